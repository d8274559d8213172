import test, { type ExecutionContext } from 'ava'
import type { Interceptor } from '../../../src/upstream/http/request.ts'
import { eventually } from '../../helpers/eventually.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { type GatewayOptions, startFake, startGateway } from '../../helpers/gateway.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { FIXED_TIME, type Market, openMarket } from '../../helpers/market.ts'
import { ADMIN, type RunningService, send } from '../../helpers/registry.ts'
import { startScriptedEntrepot } from '../../helpers/scripted-entrepot.ts'

const OFFER = { offer_resource: { gpu_model: 'H200', gpu_count: 8 }, storefront_url: 'https://alice.example' }

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
async function follow(t: ExecutionContext, market: Market): Promise<RunningService> {
  const gateway = await startGateway(
    t,
    [{ name: 'entrepot', url: market.url, settings: 'refresh_seconds = 3600' }],
    { environment: { REGISTRY_ADMIN_API_KEY: 'admin' } },
  )
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

type Script = { items?: string[]; sources?: readonly object[]; settings?: string } & GatewayOptions

/** A gateway that has pulled an entrepot whose streams send this, and nothing more. */
async function followStreams(
  t: ExecutionContext,
  streams: (string | number)[],
  { items, sources, settings = 'refresh_seconds = 3600', ...options }: Script = {},
) {
  const scripted = await startScriptedEntrepot(t, streams)
  if (items !== undefined) scripted.items = items
  if (sources !== undefined) scripted.sources = sources
  const gateway = await startGateway(t, [{ name: 'entrepot', url: scripted.url, settings }], {
    environment: { REGISTRY_ADMIN_API_KEY: 'admin', METRICS_PUBLIC: 'true', ENTREPOT_KEY: KEY },
    ...options,
  })
  return { scripted, gateway }
}

const GATEWAY = 'kind = "gateway"\nrefresh_seconds = 3600'
const KEY = 'a-key-that-stays-here'

const event = (change: object, id = 'next'): string => `id: ${id}\ndata: ${JSON.stringify(change)}\n\n`
const listed = (text: string): object => ({
  type: 'listing',
  key: 'k',
  listing_id: 'x',
  publisher: null,
  listing: JSON.parse(text),
})

/** Of a stream that is not one, and why it ends: what it sent stays out, and a pull has what is right. */
const HOSTILE: Readonly<Record<string, [stream: string | number, reason: string]>> = {
  'a position that is gone': [410, 'http_410'],
  'an event that is not JSON': [event({ type: 'listing' }).replace('{', '{{'), 'not_json'],
  'a listing without an id': [event({ type: 'listing', listing: { status: 'open' } }), 'bad_envelope'],
  'a removal of nothing': [event({ type: 'removed' }), 'bad_envelope'],
  'an endless line': [`data: ${'x'.repeat(400_000)}`, 'too_large'],
  'more events at once than may wait': ['data: {}\n\n'.repeat(1500), 'too_large'],
  'more than 64 MiB in a minute': [`:${'x'.repeat(255 * 1024)}\n`.repeat(260), 'too_large'],
  'our own key': [event({ type: 'listing', key: KEY }), 'bad_envelope'],
  'another status': [500, 'http_500'],
}

for (const [what, [stream, reason]] of Object.entries(HOSTILE))
  test(`a followed upstream: ${what} is followed by a pull or by another stream`, async (t) => {
    const good = event(listed(listingTexts('good', 1)[0]!))
    const settings = 'refresh_seconds = 3600\napi_key_env = "ENTREPOT_KEY"'
    const { scripted, gateway } = await followStreams(t, [stream, good], { settings })
    await eventually('followed again', async () => (await idsOf(gateway)).includes('good-0000'))
    t.true(scripted.opened.length >= 2)
    if (stream !== 500) t.true(scripted.pulls >= 2)
    const { text } = await gateway.get('/metrics')
    t.true(text.includes(`entrepot_source_feed_failures_total{registry="entrepot",reason="${reason}"} 1`))
    t.regex(text, /^entrepot_source_behind_seconds\{registry="entrepot"\} /m)
    t.regex(text, /^entrepot_source_changed_timestamp_seconds\{registry="entrepot"\} \d/m)
  })

test('a followed upstream: a stream that is cut goes on from its last position, without a pull', async (t) => {
  const [first, second] = listingTexts('good', 2)
  const { scripted, gateway } = await followStreams(t, [
    `${event(listed(first!), 'one')}${event(listed(second!), 'two')}id: three\ndata: {"type":"removed"`,
    ': idle\n\n',
  ])
  await eventually('applied', async () => (await idsOf(gateway)).includes('good-0001'))
  scripted.items = []
  scripted.cut()
  await eventually('opened again', () => scripted.opened.length === 2)
  t.deepEqual(scripted.opened, ['from-pull-1', 'two'])
  t.is((await idsOf(gateway)).length, 4)
})

test('a followed upstream: a stream that is silent for 45 s is opened again from its last position', async (t) => {
  const [first] = listingTexts('good', 1)
  const limits = new Set<number>()
  const sooner: Interceptor = (dispatch) => (request, handler) => {
    if (request.purpose !== 'feed') return dispatch(request, handler)
    limits.add(request.timeoutMs)
    return dispatch({ ...request, timeoutMs: request.timeoutMs / 300 }, handler)
  }
  const streams = [event(listed(first!), 'one')]
  const { scripted } = await followStreams(t, streams, { interceptors: [sooner] })
  await eventually('opened again', () => scripted.opened.includes('one'))
  t.deepEqual([...limits], [45_000])
})

const stays = test.macro(async (t, sources: readonly object[], registry: string) => {
  const of = (text: string, registry: string, unchecked?: readonly string[]): string =>
    JSON.stringify({ ...JSON.parse(text), _meta: { registry, publisher: null, also_in: [], unchecked } })
  const [first, second, third] = listingTexts('x', 3) as [string, string, string]
  const key = (text: string): string => `${JSON.parse(text).storefront_url}/${JSON.parse(text).listing_id}`
  const removed = (text: string, unchecked?: readonly string[]): object => ({
    type: 'removed',
    key: key(text),
    listing_id: JSON.parse(text).listing_id,
    publisher: null,
    unchecked,
  })
  const events = [
    event(listed(of(first, 'b', ['a']))),
    event(removed(second, ['a'])),
    event(removed(third)),
    event(listed(of(listingTexts('last', 1)[0]!, 'b'))),
  ]
  const items = [first, second, third].map((text) => of(text, 'a'))
  const { gateway } = await followStreams(t, [events.join('')], { items, sources, settings: GATEWAY })
  await eventually('applied', async () => (await idsOf(gateway)).includes('last-0000'))
  const shown = (await gateway.get('/listings')).json() as {
    items: { listing_id: string; _meta: { registry: string } }[]
  }
  t.deepEqual(shown.items.map((item) => `${item.listing_id} of ${item._meta.registry}`).sort(), [
    'last-0000 of entrepot/b',
    `x-0000 of entrepot/${registry}`,
    'x-0001 of entrepot/a',
  ])
})

test(
  'a followed upstream: a copy of a source that its gateway does not follow stays until a pull',
  stays,
  [],
  'a',
)

test(
  'a followed upstream: a copy of a source that its gateway holds in part gives way to another one',
  stays,
  [{ registry: 'a', state: 'partial', reason: 'too_large', held: 3, of: 4 }],
  'b',
)

test('a followed upstream: what its gateway holds in part, or whole again, is known before a pull', async (t) => {
  const noted = (source: object, id: string): string =>
    event({ type: 'source', source: { registry: 'b', ...source } }, id)
  const streams = [
    noted({ state: 'partial', reason: 'too_large', held: 2, of: 3 }, 'one'),
    noted({ state: 'loaded' }, 'two'),
  ]
  const { scripted, gateway } = await followStreams(t, streams, { settings: GATEWAY })
  const answer = async () =>
    (await gateway.get('/listings')).json() as { complete: boolean; sources: { registry: string }[] }
  await eventually('held in part', async () => !(await answer()).complete)
  const { sources } = await answer()
  const inPart = { registry: 'entrepot/b', state: 'partial', reason: 'too_large', held: 2, of: 3 }
  t.like(sources.at(-1), inPart)
  scripted.cut()
  await eventually('held whole', async () => (await answer()).complete)
})

test('a followed upstream: of a source that its stream misses the pulls go on as before', async (t) => {
  const streams = [
    event({ type: 'source', source: { registry: 'live', state: 'unavailable', reason: 'timeout' } }),
  ]
  const clock = manualClock()
  const settings = 'kind = "gateway"\nrefresh_seconds = 30'
  const { scripted, gateway } = await followStreams(t, streams, { settings, clock })
  await eventually('followed', async () => (await sourceOf(gateway)).followed)
  scripted.items = listingTexts('y', 1)
  await eventually('pulled', async () => {
    clock.advance(1000)
    return (await idsOf(gateway)).join() === 'y-0000'
  })
  t.pass()
})

test('a followed upstream: a stream goes on from its last position, and what it has missed is counted', async (t) => {
  const streams = [event(listed(listingTexts('good', 1)[0]!), 'second'), 500, ': idle\n\n']
  const clock = manualClock()
  const { scripted, gateway } = await followStreams(t, streams, { clock })
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

test('a followed upstream: what newer listings push out of a part that its gateway holds was not missed', async (t) => {
  const clock = manualClock()
  const large = await startFake(t, { items: listingTexts('x', 6) })
  const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
  const settings = 'refresh_seconds = 3600\nmax_listings = 4'
  const inner = await startGateway(t, [{ name: 'large', url: large.url, settings }], {
    environment,
    more: '[gateway]\nid = "inner"\n',
  })
  const outer = await startGateway(t, [{ name: 'inner', url: inner.url, settings: GATEWAY }], {
    clock,
    environment,
  })
  await eventually('followed', async () => (await sourceOf(outer)).followed)
  large.items = [...listingTexts('new', 1, { created_at: '2026-11-20T11:00:00' }), ...listingTexts('x', 5)]
  const pull = { method: 'POST', headers: ADMIN }
  await send(`${inner.url}/admin/sources/large/refresh`, pull)
  await eventually('followed so far', async () => (await idsOf(outer)).includes('new-0000'))
  t.deepEqual(await idsOf(outer), ['new-0000', 'x-0000', 'x-0001', 'x-0002', 'x-0003'])
  await send(`${outer.url}/admin/sources/inner/refresh`, pull)
  await eventually('pulled', async () => !(await idsOf(outer)).includes('x-0003'))
  clock.advance(10_000)
  t.is((await sourceOf(outer)).missed_changes, 0)

  large.items = large.items.slice(1)
  await send(`${inner.url}/admin/sources/large/refresh`, pull)
  await eventually('gone by the stream alone', async () => !(await idsOf(outer)).includes('new-0000'))
})
