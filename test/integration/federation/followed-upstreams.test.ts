import test, { type ExecutionContext } from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { envelopeText, listingTexts } from '../../helpers/fake-registry.ts'
import { startGateway, whenReady } from '../../helpers/gateway.ts'
import { listen } from '../../helpers/listen.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { FIXED_TIME, type Market, openMarket } from '../../helpers/market.ts'
import { type RunningService, send } from '../../helpers/registry.ts'

const OFFER = { offer_resource: { gpu_model: 'H200', gpu_count: 8 }, storefront_url: 'https://alice.example' }
const ADMIN = { Authorization: 'Bearer admin' }

type SourceJson = {
  followed?: { behind_seconds: number }
  missed_changes: number
  calls: { made: number }
}

async function sourceOf({ get }: RunningService): Promise<SourceJson> {
  const { sources } = (await get('/admin/sources', ADMIN)).json() as { sources: SourceJson[] }
  return sources.at(-1)!
}

const idsOf = async ({ get }: RunningService): Promise<string[]> =>
  ((await get('/listings')).json() as { items: { listing_id: string }[] }).items.map(
    ({ listing_id }) => listing_id,
  )

/** A gateway that has pulled the Registry once, and follows it. */
async function follow(t: ExecutionContext, market: Market, settings = ''): Promise<RunningService> {
  const gateway = await startGateway(
    t,
    [
      {
        name: 'entrepot',
        url: market.url,
        settings: `mode = "snapshot"\nrefresh_seconds = 3600\n${settings}`,
      },
    ],
    { environment: { REGISTRY_ADMIN_API_KEY: 'admin' } },
  )
  await whenReady(gateway)
  await eventually('followed', async () => (await sourceOf(gateway)).followed)
  return gateway
}

test('a followed upstream: changes arrive by its stream, and no page is requested again', async (t) => {
  const market = await openMarket(t)
  await market.publish({ listing_id: 'a', ...OFFER })
  const gateway = await follow(t, market)
  const { made } = (await sourceOf(gateway)).calls
  await market.publish({ listing_id: 'b', ...OFFER }, FIXED_TIME + 1)
  await eventually('added', async () => (await idsOf(gateway)).length === 2)
  await market.remove('a', FIXED_TIME + 2)
  await eventually('removed', async () => (await idsOf(gateway)).join() === 'b')
  await market.publish({ listing_id: 'b', ...OFFER, storefront_url: 'https://moved.example' }, FIXED_TIME + 3)
  await eventually('moved', async () => (await gateway.get('/listings')).text.includes('moved.example'))
  await market.update('b', { status: 'closed' }, FIXED_TIME + 4)
  await eventually('closed', async () => (await idsOf(gateway)).length === 0)
  const source = await sourceOf(gateway)
  t.is(source.calls.made, made)
  t.is(source.missed_changes, 0)
})

/** The first page of a scripted entrepot, with the position of its stream. */
const pageOf = (items: readonly string[]): string => envelopeText(items, items.length)

type Scripted = {
  url: string
  items: string[]
  /** What each stream sends; the last one repeats. */
  streams: (string | number)[]
  pulls: number
  opened: string[]
}

/** An entrepot whose streams send what the test says, and then nothing. */
async function startScripted(t: ExecutionContext, streams: (string | number)[]): Promise<Scripted> {
  const scripted: Scripted = { url: '', items: listingTexts('x', 2), streams, pulls: 0, opened: [] }
  scripted.url = await listen(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://scripted')
    const json = { 'content-type': 'application/json' }
    if (pathname === '/listings') {
      scripted.pulls++
      response.writeHead(200, { ...json, 'changes-position': `from-pull-${scripted.pulls}` })
      response.end(pageOf(scripted.items))
    } else if (pathname === '/changes') {
      scripted.opened.push(searchParams.get('since')!)
      const stream = scripted.streams.length > 1 ? scripted.streams.shift()! : scripted.streams[0]!
      if (typeof stream === 'number') response.writeHead(stream, json).end('{}')
      else response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`: hello\n\n${stream}`)
    } else response.writeHead(404, json).end('{}')
  })
  return scripted
}

const event = (change: object, id = 'next'): string => `id: ${id}\ndata: ${JSON.stringify(change)}\n\n`
const listed = (text: string): object => ({
  type: 'listing',
  key: 'k',
  listing_id: 'x',
  publisher: null,
  listing: JSON.parse(text),
})

/** Of a stream that is not one: what it sent stays out, and a pull has what is right. */
const HOSTILE: Readonly<Record<string, string | number>> = {
  'a position that is gone': 410,
  'an event that is not JSON': event({ type: 'listing' }).replace('{', '{{'),
  'a listing without an id': event({ type: 'listing', listing: { status: 'open' } }),
  'a removal of nothing': event({ type: 'removed' }),
  'an endless line': `data: ${'x'.repeat(400_000)}`,
  'another status': 500,
}

for (const [what, stream] of Object.entries(HOSTILE))
  test(`a followed upstream: ${what} is followed by a pull or by another stream`, async (t) => {
    const good = event(listed(listingTexts('good', 1)[0]!))
    const scripted = await startScripted(t, [stream, good])
    const gateway = await startGateway(t, [
      { name: 'entrepot', url: scripted.url, settings: 'mode = "snapshot"\nrefresh_seconds = 3600' },
    ])
    await whenReady(gateway)
    await eventually('followed again', async () => (await idsOf(gateway)).includes('good-0000'))
    t.true(scripted.opened.length >= 2)
    if (stream !== 500) t.true(scripted.pulls >= 2)
  })

test('a followed upstream: a stream goes on from its last position, and what it has missed is counted', async (t) => {
  const scripted = await startScripted(t, [
    event(listed(listingTexts('good', 1)[0]!), 'second'),
    500,
    ': idle\n\n',
  ])
  const clock = manualClock()
  const gateway = await startGateway(
    t,
    [{ name: 'entrepot', url: scripted.url, settings: 'mode = "snapshot"\nrefresh_seconds = 3600' }],
    { clock, environment: { REGISTRY_ADMIN_API_KEY: 'admin' } },
  )
  await whenReady(gateway)
  await eventually('applied', async () => (await idsOf(gateway)).includes('good-0000'))
  // The pull does not have it, and has another one that the stream never named.
  scripted.items = listingTexts('y', 1)
  await send(`${gateway.url}/admin/sources/entrepot/refresh`, { method: 'POST', headers: ADMIN })
  await eventually('pulled', async () => (await idsOf(gateway)).join() === 'y-0000')
  const missed = await eventually(
    'counted',
    async () => {
      clock.advance(1000)
      return (await sourceOf(gateway)).missed_changes
    },
    (count) => count !== 0,
  )
  t.is(missed, 4)
  t.is(scripted.opened[0], 'from-pull-1')
  t.is(scripted.opened[1], 'from-pull-2')
})
