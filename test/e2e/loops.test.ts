import test, { type ExecutionContext } from 'ava'
import { freePorts } from '../helpers/free-port.ts'
import { type Behind, gatewayToml, startFake, startGateway } from '../helpers/gateway.ts'
import { type RunningService, startRegistry } from '../helpers/registry.ts'
import { ALICE, publish } from '../helpers/seller.ts'

const FRESH = '[cache]\nfresh_seconds = 0\nstale_while_revalidate_seconds = 0\nstale_if_error_seconds = 0\n'

/** Gateways that name each other: `links[n]` are the places of those behind the nth. Each has one listing of its own. */
const startRing = async (
  t: ExecutionContext,
  links: readonly (readonly number[])[],
): Promise<RunningService[]> => {
  // Nothing listens on them yet, so that gateways can name each other before they are there.
  const ports = await freePorts(links.length)
  const nameOf = (place: number): string => `g${place}`
  return Promise.all(
    links.map(async (targets, place) => {
      const upstreams = targets.map(
        (target): Behind => ({
          name: nameOf(target),
          url: `http://127.0.0.1:${ports[target]}`,
          settings: 'kind = "gateway"',
        }),
      )
      const toml = gatewayToml(upstreams, `[gateway]\nid = "${nameOf(place)}"\n${FRESH}`)
      const service = await startRegistry(t, { environment: { PORT: String(ports[place]) }, toml })
      await publish(service.url, ALICE, { listing_id: `of-${nameOf(place)}` })
      return service
    }),
  )
}

type Answer = {
  items: { listing_id: string; _meta: { registry: string } }[]
  sources: Record<string, unknown>[]
}

const idsOf = ({ items }: Answer): string[] => items.map(({ listing_id }) => listing_id).sort()

test('two gateways behind each other answer with the listings of both, once', async (t) => {
  const services = await startRing(t, [[1], [0]])
  for (const { get } of services) {
    const answer = (await get('/listings')).json() as Answer
    t.deepEqual(idsOf(answer), ['of-g0', 'of-g1'])
    t.deepEqual(
      answer.sources.map(({ state }) => state),
      ['loaded', 'loaded'],
    )
  }
})

test('three gateways in a ring, and all behind all, answer with the listings of all three, once', async (t) => {
  for (const links of [
    [[1], [2], [0]],
    [
      [1, 2],
      [2, 0],
      [0, 1],
    ],
  ]) {
    for (const { get } of await startRing(t, links)) {
      const answer = (await get('/listings')).json() as Answer
      t.deepEqual(idsOf(answer), ['of-g0', 'of-g1', 'of-g2'])
    }
  }
})

test('a listing that nobody in the ring has is not searched for for ever', async (t) => {
  const [first] = await startRing(t, [[1], [2], [0]])
  t.is((await first!.get('/listings/of-g2')).status, 200)
  t.is((await first!.get('/listings/nobody')).status, 404)
})

test('a question that comes back is answered by the local Registry alone', async (t) => {
  const fake = await startFake(t)
  const service = await startGateway(t, [{ name: 'a', url: fake.url }])
  for (const header of ['entrepot', 'other, entrepot;x=1', 'ENTREPOT,entrepot']) {
    const reply = await service.get('/listings', { 'CDN-Loop': header })
    t.is(reply.status, 200)
    t.like(reply.json(), { complete: false, items: [] })
    t.like((reply.json().sources as unknown[])[1], { registry: 'a', state: 'skipped', reason: 'loop' })
  }
  t.is(fake.requests.filter(({ path }) => path === '/listings').length, 0)
})

test('what is sent on names every gateway on the way, and no more than it may', async (t) => {
  const fake = await startFake(t)
  const service = await startGateway(t, [{ name: 'a', url: fake.url }], {
    more: `[gateway]\nid = "me"\n${FRESH}`,
  })
  await service.get('/listings')
  await service.get('/listings', { 'CDN-Loop': 'one;v=2, two:80, "bad one"' })
  const sent = fake.requests.filter(({ path }) => path === '/listings').map(({ headers }) => headers)
  t.deepEqual(
    sent.map((headers) => [headers['cdn-loop'], headers.via]),
    [
      ['me', '1.1 me'],
      ['one, two:80, me', '1.1 one, 1.1 two:80, 1.1 me'],
    ],
  )
})

test('more than three hops are too many', async (t) => {
  const fake = await startFake(t)
  const service = await startGateway(t, [{ name: 'a', url: fake.url }])
  t.is((await service.get('/listings', { 'CDN-Loop': 'a, b, c' })).status, 200)
  const refused = await service.get('/listings', { 'CDN-Loop': 'a, b, c, d' })
  t.is(refused.status, 508)
  t.is(refused.json().type, 'urn:entrepot:problem:loop')
  t.is((await service.get('/listings/x', { 'CDN-Loop': 'a, b, c, d' })).status, 508)
})

test('a gateway without a Registry of its own says 508 to a question that comes back', async (t) => {
  const fake = await startFake(t)
  const service = await startGateway(t, [{ name: 'a', url: fake.url }], {
    more: '[registry]\nenabled = false\n',
  })
  t.is((await service.get('/listings', { 'CDN-Loop': 'entrepot' })).status, 508)
})
