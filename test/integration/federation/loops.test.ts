import test, { type ExecutionContext } from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { listingText } from '../../helpers/fake-registry.ts'
import { freePorts } from '../../helpers/free-port.ts'
import { patientToml, startFake, startPatientGateway, type UpstreamEntry } from '../../helpers/gateway.ts'
import { type RunningService, startRegistry } from '../../helpers/registry.ts'
import { ALICE, publish, remove } from '../../helpers/seller.ts'
import type { Answer } from '../../helpers/sequence.ts'

const FRESH = '[cache]\nfresh_seconds = 0\n'

type RingOptions = {
  /** Further lines of each link. */
  settings?: string
  /** Indexes of gateways without a local Registry. */
  pure?: readonly number[]
  /** Indexes of gateways with an empty local Registry. */
  empty?: readonly number[]
  /** Further upstreams of the nth gateway. */
  more?: (place: number) => readonly UpstreamEntry[]
}

/** Gateways over each other: `links[n]` are the indexes of the nth gateway's upstreams. Each has one local listing. */
async function startRing(
  t: ExecutionContext,
  links: readonly (readonly number[])[],
  { settings = '', pure = [], empty = [], more = () => [] }: RingOptions = {},
): Promise<RunningService[]> {
  // Ports are chosen first, so that gateways can name each other before they start.
  const ports = await freePorts(links.length)
  const nameOf = (place: number): string => `g${place}`
  return Promise.all(
    links.map(async (targets, place) => {
      const upstreams = targets.map(
        (target): UpstreamEntry => ({
          name: nameOf(target),
          url: `http://127.0.0.1:${ports[target]}`,
          settings: `kind = "gateway"\n${settings}`,
        }),
      )
      const own = pure.includes(place) ? '[registry]\nenabled = false\n' : ''
      const head = `id = "${nameOf(place)}"\n${own}${FRESH}`
      const toml = patientToml([...upstreams, ...more(place)], head)
      const service = await startRegistry(t, { environment: { PORT: String(ports[place]) }, toml })
      if (own === '' && !empty.includes(place))
        await publish(service.url, ALICE, { listing_id: `of-${nameOf(place)}` })
      return service
    }),
  )
}

/** Resolves when each of them, asked for what is current, answers with these listings and is complete but for these sources. */
const converge = (
  services: readonly RunningService[],
  ids: readonly string[],
  away: readonly string[] = services.map(() => ''),
): Promise<unknown> =>
  eventually(
    'all have all',
    async () =>
      Promise.all(
        services.map(async ({ get }) => {
          const { items = [], sources = [] } = (
            await get('/listings', { 'Cache-Control': 'no-cache' })
          ).json() as Answer
          return `${items.map(({ listing_id }) => listing_id).sort()} ${awayIn({ sources })}`
        }),
      ),
    (answers) => answers.every((one, place) => one === `${ids} ${away[place]}`),
  )

const awayIn = ({ sources }: Pick<Answer, 'sources'>): string[] =>
  sources.filter(({ state }) => state !== 'loaded').map(({ registry }) => registry)

const idsOf = ({ items }: Answer): string[] => items.map(({ listing_id }) => listing_id).sort()

test('loops: three gateways in a ring answer with the listings of all, once', async (t) => {
  const services = await startRing(t, [[1], [2], [0]])
  await converge(services, ['of-g0', 'of-g1', 'of-g2'])
  for (const { get } of services) {
    const answer = (await get('/listings')).json() as Answer
    t.deepEqual(idsOf(answer), ['of-g0', 'of-g1', 'of-g2'])
    t.true(answer.complete)
  }
})

test('loops: a listing that ends is in none of three gateways that pull each other', async (t) => {
  const links = [
    [1, 2],
    [2, 0],
    [0, 1],
  ]
  const services = await startRing(t, links, { settings: 'refresh_seconds = 3600' })
  const idsAt = async ({ get }: RunningService) =>
    idsOf((await get('/listings', { 'Cache-Control': 'no-cache' })).json() as Answer).join()
  const idsEverywhere = async () => [...new Set(await Promise.all(services.map(idsAt)))].join(' | ')
  await eventually('all have all', idsEverywhere, (ids) => ids === 'of-g0,of-g1,of-g2')
  await remove(services[0]!.url, 'of-g0')
  t.is(await eventually('it is gone', idsEverywhere, (ids) => !ids.includes('of-g0')), 'of-g1,of-g2')
})

test('loops: a gateway is answered without what came through it, and with the path of the rest', async (t) => {
  const services = await startRing(t, [[1], [2], [3], [4], []], { settings: 'refresh_seconds = 3600' })
  const get = (headers: Record<string, string>) => services[0]!.get('/listings', headers)
  await eventually('all is there', async () => {
    for (const service of services.toReversed())
      await service.get('/listings', { 'Cache-Control': 'no-cache' })
    return idsOf((await get({})).json() as Answer).length === services.length
  })
  const pathsFor = async (asker: string, headers: Record<string, string> = {}) => {
    const { items } = (await get({ 'CDN-Loop': asker, ...headers })).json() as Answer
    return Object.fromEntries(items.map(({ listing_id, _meta }) => [listing_id, _meta.via]))
  }
  const all = {
    'of-g0': ['g0'],
    'of-g1': ['g1', 'g0'],
    'of-g2': ['g2', 'g1', 'g0'],
    'of-g3': ['g3', 'g2', 'g1'],
    // A plain Registry names nothing.
    'of-g4': ['g3', 'g2', 'g1'],
  }
  const { 'of-g3': _, 'of-g4': __, ...others } = all
  t.deepEqual(await pathsFor('other'), all)
  t.deepEqual(await pathsFor('g3'), others)
  for (const path of ['/listings?sort=price', '/listings/facets?by=gpu', '/listings/of-g4'])
    t.false((await services[0]!.get(path, { 'CDN-Loop': 'g3' })).text.includes('of-g4'), path)
  const streamed = await get({ 'CDN-Loop': 'g3', Accept: 'application/x-ndjson' })
  t.deepEqual(streamed.text.match(/of-g\d/g)?.sort(), Object.keys(others))
  t.false((await get({})).text.includes('"via"'), 'for gateways alone')
})

test('loops: nothing is missing for a ring gateway without a local Registry', async (t) => {
  const [first, second, third] = await startRing(t, [[1], [2], [0]], { pure: [0] })
  await converge([third!, second!, first!], ['of-g1', 'of-g2'])
  for (const { get } of [first!, second!]) {
    const answer = (await get('/listings')).json() as Answer
    t.deepEqual(idsOf(answer), ['of-g1', 'of-g2'])
  }
  t.true(((await first!.get('/listings')).json() as Answer).complete)
})

test('loops: a gateway whose only upstream is the caller answers an empty list', async (t) => {
  const fake = await startFake(t, { items: [listingText()] })
  const more = (place: number): UpstreamEntry[] => (place === 0 ? [{ name: 'a', url: fake.url }] : [])
  const [first] = await startRing(t, [[1], [0]], { pure: [0], empty: [1], more })
  const answer = (await first!.get('/listings')).json() as Answer
  t.deepEqual(idsOf(answer), ['listing-1'])
  t.true(answer.complete)
})

test('loops: a source that one ring gateway misses is missing for all, by path', async (t) => {
  // A failing upstream, not a closed port: another test could take that port.
  const { url } = await startFake(t, { script: [{ kind: 'status', status: 500 }] })
  const more = (place: number): UpstreamEntry[] => (place === 1 ? [{ name: 'gone', url }] : [])
  const services = await startRing(t, [[1], [2], [0]], { more })
  const ways = ['g1/gone', 'gone', 'g0/g1/gone']
  await converge(services, ['of-g0', 'of-g1', 'of-g2'], ways)
  for (const [place, { get }] of services.entries()) {
    const answer = (await get('/listings')).json() as Answer
    t.false(answer.complete)
    t.deepEqual(idsOf(answer), ['of-g0', 'of-g1', 'of-g2'])
    t.deepEqual(awayIn(answer), [ways[place]])
  }
})

test('loops: the sources of a gateway with our own id are reported as missing', async (t) => {
  const fake = await startFake(t)
  const other = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
  const gateway = await startPatientGateway(t, [{ name: 'eu', url: other.url, settings: 'kind = "gateway"' }])
  const answer = (await gateway.get('/listings')).json() as Answer
  t.false(answer.complete)
  t.like(answer.sources.at(-1), { registry: 'eu/a', state: 'skipped', reason: 'loop' })
})

test('loops: a search for an unknown listing in a ring ends', async (t) => {
  const [first] = await startRing(t, [[1], [2], [0]])
  t.is((await first!.get('/listings/of-g2')).status, 200)
  t.is((await first!.get('/listings/unknown')).status, 404)
})

test('loops: a query that returns is answered by the local Registry alone', async (t) => {
  const fake = await startFake(t)
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
  for (const listing_id of ['one', 'two']) await publish(service.url, ALICE, { listing_id })
  for (let n = 0; n < 3; n++) t.true((await service.get('/listings?limit=1')).json().complete)
  for (const header of ['entrepot', 'other, entrepot;x=1', 'ENTREPOT,entrepot']) {
    const reply = await service.get('/listings?limit=1', { 'CDN-Loop': header })
    t.is(reply.status, 200)
    t.like(reply.json(), { complete: false, count: 1, next_cursor: undefined })
    t.like((reply.json().sources as unknown[])[1], { registry: 'a', state: 'skipped', reason: 'loop' })
  }
  t.is(fake.requests.filter(({ path }) => path === '/listings').length, 1)
})

test('loops: CDN-Loop and Via name every gateway on the way, within limits', async (t) => {
  const fake = await startFake(t)
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }], {
    more: `id = "me"\n${FRESH}`,
  })
  await service.get('/listings')
  await service.get('/listings/x', { 'CDN-Loop': 'one;v=2, two:80, "bad one"' })
  const sent = fake.requests.filter(({ path }) => path.startsWith('/listings')).map(({ headers }) => headers)
  t.deepEqual(
    sent.map((headers) => [headers['cdn-loop'], headers.via]),
    [
      ['me', '1.1 me'],
      ['one, two:80, me', '1.1 one, 1.1 two:80, 1.1 me'],
    ],
  )
})

test('loops: more than three hops are refused', async (t) => {
  const fake = await startFake(t)
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }])
  t.is((await service.get('/listings', { 'CDN-Loop': 'a, b, c' })).status, 200)
  const refused = await service.get('/listings', { 'CDN-Loop': 'a, b, c, d' })
  t.is(refused.status, 508)
  t.is(refused.json().type, 'urn:entrepot:problem:loop')
  t.is((await service.get('/listings/x', { 'CDN-Loop': 'a, b, c, d' })).status, 508)
})

test('loops: a gateway without a local Registry answers 508 to a query that returns', async (t) => {
  const fake = await startFake(t)
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }], {
    more: '[registry]\nenabled = false\n',
  })
  t.is((await service.get('/listings', { 'CDN-Loop': 'entrepot' })).status, 508)
})
