import test, { type ExecutionContext } from 'ava'
import { deadUrl, listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway, type UpstreamEntry } from '../../helpers/gateway.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import type { RunningService } from '../../helpers/registry.ts'
import type { Answer } from '../../helpers/sequence.ts'

const GATEWAY = 'kind = "gateway"'

const named = (id: string): string => `id = "${id}"\n`
const pure = (id: string): string => `${named(id)}[registry]\nenabled = false\n`
const upstreamEntry = (name: string, { url }: { url: string }, settings = GATEWAY): UpstreamEntry => ({
  name,
  url,
  settings,
})

const readListings = async ({ get }: RunningService, path = '/listings'): Promise<Answer> =>
  (await get(path)).json() as Answer

const statesOf = ({ sources }: Pick<Answer, 'sources'>): unknown[] =>
  sources.map(({ registry, state, reason }) => [registry, state, ...(reason === undefined ? [] : [reason])])

/** A gateway over another one, `eu`, that has a working Registry and a dead one, and over these. */
async function startWorld(
  t: ExecutionContext,
  { items = listingTexts('well', 3), settings = GATEWAY, more = [] as readonly UpstreamEntry[] } = {},
): Promise<RunningService> {
  const well = upstreamEntry('well', await startFake(t, { items }), '')
  const gone = upstreamEntry('gone', { url: deadUrl() }, '')
  const half = await startPatientGateway(t, [well, gone], { more: pure('eu') })
  return startPatientGateway(t, [upstreamEntry('eu', half, settings), ...more], { more: named('world') })
}

test('gaps: what an upstream gateway misses is missing in our answer', async (t) => {
  const world = await startWorld(t, { more: [upstreamEntry('plain', await startFake(t), '')] })
  const reply = await world.get('/listings')
  const answer = reply.json() as Answer
  t.is(reply.status, 200)
  t.false(answer.complete)
  t.is(answer.items.length, 3)
  t.is(reply.headers.get('cache-control'), 'no-store')
  t.deepEqual(statesOf(answer), [
    ['local', 'loaded'],
    ['eu', 'loaded'],
    ['eu/gone', 'unavailable', 'connection_refused'],
    ['plain', 'loaded'],
  ])
  t.deepEqual(answer.sources[2], {
    registry: 'eu/gone',
    state: 'unavailable',
    reason: 'connection_refused',
    matched: null,
    returned: 0,
    via: ['eu'],
  })
  const all = await world.get('/listings?require=all')
  t.is(all.status, 502)
  t.true(statesOf(all.json() as Answer).some((entry) => (entry as string[])[0] === 'eu/gone'))
  t.is((await world.get('/listings?require=all&sources=plain')).status, 200)
})

test('gaps: complete: false counts from every upstream, _meta from gateways only', async (t) => {
  const world = await startWorld(t, { settings: '' })
  const answer = await readListings(world)
  t.false(answer.complete)
  t.deepEqual(statesOf(answer), [
    ['local', 'loaded'],
    ['eu', 'loaded'],
    ['eu/gone', 'unavailable', 'connection_refused'],
  ])
  t.is(answer.items.length, 3)
  for (const { _meta } of answer.items) t.is(_meta.registry, 'eu')
})

test("gaps: a stream's last line and later pages report what any part missed", async (t) => {
  const world = await startWorld(t, { items: listingTexts('well', 450) })
  const { text } = await world.get('/listings', { accept: 'application/x-ndjson' })
  const lines = text.trimEnd().split('\n')
  const { _meta: meta } = JSON.parse(lines.at(-1)!) as { _meta: Answer }
  t.is(lines.length, 451)
  t.false(meta.complete)
  t.deepEqual(statesOf(meta)[2], ['eu/gone', 'unavailable', 'connection_refused'])
  let page = await readListings(world, '/listings?limit=200')
  let seen = page.items.length
  while (page.next_cursor !== undefined) {
    t.false(page.complete)
    page = await readListings(world, `/listings?limit=200&cursor=${encodeURIComponent(page.next_cursor)}`)
    seen += page.items.length
  }
  t.false(page.complete)
  t.like(page.sources[2], { registry: 'eu/gone', state: 'unavailable' })
  t.is(seen, 450)
})

test('gaps: 404 only if every Registry of every gateway answered 404', async (t) => {
  const world = await startWorld(t)
  const unsure = await world.get('/listings/unknown')
  t.is(unsure.status, 502)
  t.deepEqual(statesOf(unsure.json() as Answer), [
    ['local', 'loaded'],
    ['eu', 'unavailable', 'http_502'],
    ['eu/gone', 'unavailable', 'connection_refused'],
  ])
  t.regex(String(unsure.json().detail), /eu, eu\/gone did not answer/)
})

test('gaps: a 404 that names a missing source is not a 404', async (t) => {
  const problem = JSON.stringify({
    status: 404,
    sources: [{ registry: 'away', state: 'unavailable', reason: 'timeout' }],
  })
  const fake = await startFake(t)
  const odd = await startFake(t, { listingScript: { kind: 'status', status: 404, body: problem } })
  const world = await startPatientGateway(t, [upstreamEntry('odd', odd), upstreamEntry('well', fake, '')], {
    more: named('world'),
  })
  const reply = await world.get('/listings/unknown')
  t.is(reply.status, 502)
  t.deepEqual(statesOf(reply.json() as Answer)[2], ['odd/away', 'unavailable', 'timeout'])
})

test('gaps: the problem of a failed gateway names its missing sources, too', async (t) => {
  const gone = await startPatientGateway(t, [upstreamEntry('gone', { url: deadUrl() }, '')], {
    more: pure('eu'),
  })
  const world = await startPatientGateway(
    t,
    [upstreamEntry('eu', gone), upstreamEntry('well', await startFake(t), '')],
    {
      more: named('world'),
    },
  )
  t.deepEqual(statesOf(await readListings(world)), [
    ['local', 'loaded'],
    ['eu', 'unavailable', 'http_503'],
    ['eu/gone', 'unavailable', 'connection_refused'],
    ['well', 'loaded'],
  ])
})

test('gaps: the age of a gateway is that of its oldest data', async (t) => {
  const clock = manualClock()
  const held = 'refresh_seconds = 600\nfull_refresh_seconds = 600\n'
  const open = await startFake(t, { items: listingTexts('open', 3) })
  const eu = await startPatientGateway(t, [upstreamEntry('open', open, held)], { clock, more: pure('eu') })
  clock.advance(500_000)
  const world = await startPatientGateway(t, [upstreamEntry('eu', eu)], { more: pure('world') })
  const [source] = (await readListings(world)).sources
  t.true(Number(source!.age_seconds) >= 500)
})
