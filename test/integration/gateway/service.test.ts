import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import {
  type FakeOptions,
  type FakeRegistry,
  idOf,
  listingText,
  listingTexts,
} from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway, whenReady } from '../../helpers/gateway.ts'
import { jsonText } from '../../helpers/json-text.ts'
import type { RunningService } from '../../helpers/registry.ts'
import { runs } from '../../helpers/runs.ts'
import type { Answer } from '../../helpers/sequence.ts'
import { filterOf, specBody } from '../../helpers/specs.ts'

type Opened = RunningService & { fake: FakeRegistry; read: (path: string) => Promise<Answer> }

/** No Registry of its own. */
const PURE = '[registry]\nenabled = false\n'
const NDJSON = { Accept: 'application/x-ndjson' }

/** A gateway over one upstream, without a Registry of its own. */
async function open(
  t: ExecutionContext,
  fakeOptions: FakeOptions,
  { settings = '', more = '' } = {},
): Promise<Opened> {
  const fake = await startFake(t, fakeOptions)
  const kind = fakeOptions.kind === undefined ? '' : `kind = "${fakeOptions.kind}"\n`
  const service = await startPatientGateway(t, [{ name: 'up', url: fake.url, settings: kind + settings }], {
    more: more + PURE,
  })
  const read = async (path: string) => (await service.get(path)).json() as Answer
  return { ...service, fake, read }
}

/** Another gateway, before the one at `url`. */
function openOuter(
  t: ExecutionContext,
  url: string,
  { settings = '', more = '' } = {},
): Promise<RunningService> {
  const upstream = { name: 'eu', url, settings: `kind = "gateway"\n${settings}` }
  return startPatientGateway(t, [upstream], { more: `id = "outer"\n${more}${PURE}` })
}

async function linesOf({ get }: RunningService, path = '/listings'): Promise<Record<string, unknown>[]> {
  const { text } = await get(path, NDJSON)
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

const idsOf = ({ items }: Answer): string[] => items.map(({ listing_id }) => listing_id)

/** A listing with its id, status and time, and around them whatever JSON allows: as it is, and without white space. */
const oddListing = fc
  .tuple(jsonText(), jsonText(), jsonText(), fc.constantFrom('', ' ', '\n\t'))
  .map(([one, two, three, space]) =>
    [space, ''].map(
      (between) =>
        `{${between}"offer_resource":${one}${between},"x":${two},${between}"x":${three},"listing_id":"ID",` +
        `"status":"open",${between}"created_at":"2026-11-20T15:33:44.792803"${between}}`,
    ),
  )

test('a listing passes a gateway byte for byte, a second one except for white space', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(oddListing, { minLength: 50, maxLength: 50 }), async (odd) => {
      const [items = [], compact = []] = [0, 1].map((form) =>
        odd.map((one, n) => one[form]!.replace('"ID"', `"${String(n).padStart(3, '0')}"`)),
      )
      const { url, get } = await open(t, { items })
      const outer = await openOuter(t, url)
      for (const [service, registry, listings] of [
        [{ get }, 'up', items],
        [outer, 'eu/up', compact],
      ] as const) {
        const { text } = await service.get('/listings')
        const meta = `,"_meta":{"registry":"${registry}","also_in":[],"stale":false}}`
        const expected = listings.map((item) => item.slice(0, item.lastIndexOf('}')) + meta)
        t.is(text.slice(0, text.indexOf('],"count"')), `{"items":[${expected.join(',')}`)
      }
    }),
    { numRuns: runs(10) },
  )
})

test('listings too long or nested too deep are left out and counted, in pages and streams', async (t) => {
  const long = listingText({ listing_id: 'long', demands: ['x'.repeat(70_000)] })
  const deep = listingText({ listing_id: 'deep' }).replace('[]', '['.repeat(40) + ']'.repeat(40))
  const service = await open(t, { items: [long, deep, ...listingTexts('a', 2)] })
  const page = await service.read('/listings')
  t.deepEqual(idsOf(page), ['a-0000', 'a-0001'])
  t.is(page.sources[0]?.invalid, 2)
  const lines = await linesOf(service)
  t.is(lines.length, 3)
  t.like(lines.at(-1)?._meta, { sources: [{ invalid: 2 }] })
  const filtered = await service.read('/listings?gpu_model=H100')
  t.like(filtered, { total_after_filter: 2, sources: [{ invalid: 2 }] })
})

test('a stream counts each unreadable listing once, whatever was read before', async (t) => {
  const items = listingTexts('a', 900)
  for (const at of [3, 400, 899]) items[at] = listingText({ listing_id: `odd-${at}`, created_at: null })
  const service = await open(t, { items })
  const invalidIn = async (path: string) => (await linesOf(service, path)).at(-1)?._meta
  t.like(await invalidIn('/listings'), { sources: [{ matched: 897, invalid: 3 }] })
  t.like(await invalidIn('/listings?gpu_model=H100'), { sources: [{ matched: 897, invalid: 3 }] })
  t.like(await invalidIn('/listings'), { sources: [{ matched: 897, invalid: 3 }] })
})

test('an upstream of whose listings none is readable has not answered', async (t) => {
  const odd = [1763652824, 'Fri, 20 Nov 2026 15:33:44 GMT', '2026-12-31T23:59:60', null]
  const { get } = await open(t, { items: odd.map((created_at) => listingText({ created_at })) })
  const reply = await get('/listings')
  t.is(reply.status, 503)
  t.like(reply.json(), { sources: [{ registry: 'up', state: 'unavailable', reason: 'bad_envelope' }] })
})

test('a gateway whose cursor is too long to be sent has not answered, and is not at its end', async (t) => {
  const openWith = (cursor: number) =>
    open(t, {
      kind: 'gateway',
      items: listingTexts('a', 300),
      envelope: { next_cursor: 'x'.repeat(cursor) },
    })
  const reply = await (await openWith(20_000)).get('/listings?limit=200')
  t.is(reply.status, 503)
  t.like(reply.json(), { sources: [{ registry: 'up', state: 'unavailable', reason: 'bad_envelope' }] })
  const service = await openWith(16_000)
  t.like(await service.read('/listings?limit=20'), { complete: true, count: 20, total_after_filter: 300 })
})

test('a Registry that repeats one id shows it once, and is given up after few requests', async (t) => {
  const namesakes = (count: number) =>
    Array.from({ length: count }, (_, n) => listingText({ publisher_id: n }))
  const few = await open(t, { items: namesakes(150) })
  t.is((await linesOf(few)).length, 2)
  const many = await open(t, { items: namesakes(4000) })
  t.like((await many.get('/listings', NDJSON)).json(), { sources: [{ reason: 'bad_envelope' }] })
  t.true(many.fake.requests.length < 15)
})

test(`a gateway over a gateway shows all of 3,000 listings and filters them`, async (t) => {
  const filterSpec = specBody('one', [filterOf('gpu_model')])
  const { url, fake } = await open(t, { items: listingTexts('a', 3000), filterSpec })
  const outer = await openOuter(t, url, {})
  await whenReady(outer)
  const lines = await linesOf(outer)
  t.is(new Set(lines.map(({ listing_id }) => listing_id)).size, 3001)
  t.like(lines.at(-1)?._meta, { complete: true, sources: [{ registry: 'eu', state: 'loaded' }] })
  const ids: string[] = []
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const page = (await outer.get(`/listings?limit=200&cursor=${cursor}`)).json() as Answer
    t.true(page.complete)
    ids.push(...idsOf(page))
    cursor = page.next_cursor
  }
  t.deepEqual(ids, fake.items.map(idOf))
  const filtered = (await outer.get('/listings?gpu_model=H100&limit=1')).json() as Answer
  t.like(filtered, { total_after_filter: 3000, complete: true })
  const none = (await outer.get('/listings?gpu_model=A100&limit=1')).json() as Answer
  t.like(none, { total_after_filter: 0, complete: true })
})
