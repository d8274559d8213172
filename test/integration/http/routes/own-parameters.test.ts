import test, { type ExecutionContext } from 'ava'
import { deadUrl, listingText } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { openMarket } from '../../../helpers/market.ts'
import type { RunningService } from '../../../helpers/registry.ts'
import { temporaryFile } from '../../../helpers/run-cli.ts'
import { filterOf, specBody } from '../../../helpers/specs.ts'

const OF_THE_PROTOCOL = ['status', 'publisher', 'limit', 'offset']

async function queryParameters({ get }: RunningService, path: string): Promise<string[]> {
  const { paths } = (await get('/openapi.json')).json() as {
    paths: Record<string, { get: { parameters: { in: string; name: string }[] } }>
  }
  return paths[path]!.get.parameters.filter((one) => one.in === 'query').map(({ name }) => name)
}

/** A filter spec that has a filter of the name of every parameter that the deployed protocol lacks. */
async function takeAllNames(t: ExecutionContext) {
  const gateway = await startGateway(t, [{ name: 'a', url: deadUrl() }], {
    environment: { REGISTRY_FILTER_SPEC_PATH: specFile(t, []) },
  })
  const names = (await queryParameters(gateway, '/listings')).filter(
    (name) => !OF_THE_PROTOCOL.includes(name),
  )
  return { names, environment: { REGISTRY_FILTER_SPEC_PATH: specFile(t, names) } }
}

const specFile = (t: ExecutionContext, names: readonly string[]): string =>
  temporaryFile(t, 'spec.json', JSON.stringify({ ...specOf(names), etag: undefined }))

const specOf = (names: readonly string[]) =>
  specBody(
    'e',
    names.map((name) => filterOf(name)),
  )

test('own parameters: a filter of the spec takes the name of every one, at a Registry and at a gateway', async (t) => {
  const { names, environment } = await takeAllNames(t)
  t.true(names.includes('sort') && names.includes('cursor') && names.length > 8)
  const offer_resource = Object.fromEntries(names.map((name) => [name, 'x']))
  const fake = await startFake(t, { items: [listingText({ listing_id: 'all', offer_resource })] })
  const market = await openMarket(t, { environment })
  await market.publish({ listing_id: 'all', offer_resource })
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url }], { environment })
  for (const service of [market, gateway]) {
    const documented = await queryParameters(service, '/listings')
    t.deepEqual(documented.toSorted(), [...OF_THE_PROTOCOL, ...names].sort())
    for (const path of ['/listings', '/facets'])
      for (const name of names)
        for (const [value, total] of [
          ['x', 1],
          ['price', 0],
        ] as const) {
          const { status, json } = await service.get(`${path}?${name}=${value}`)
          t.is(status, 200, `${path}?${name}`)
          t.is(json()[path === '/facets' ? 'total' : 'total_after_filter'], total, `${path}?${name}=${value}`)
        }
  }
})

test('own parameters: pages continue beside a filter of the name cursor', async (t) => {
  const { environment } = await takeAllNames(t)
  const items = ['a', 'b', 'c'].map((id) => listingText({ listing_id: id, offer_resource: { cursor: 'x' } }))
  const fake = await startFake(t, { items })
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url }], { environment })
  const ids: string[] = []
  let next: string | undefined = ''
  for (let pages = 0; next !== undefined && pages < 4; pages++) {
    const { json } = await gateway.get(`/listings?cursor=x&limit=1${next && `&cursor=${next}`}`)
    const page = json() as { items: { listing_id: string }[]; next_cursor?: string }
    ids.push(...page.items.map(({ listing_id }) => listing_id))
    next = page.next_cursor
  }
  t.deepEqual(ids, ['a', 'b', 'c'])
  const { status } = await gateway.get(`/listings?cursor=${'x'.repeat(200)}`)
  t.is(status, 400, 'a text in the form of a cursor is one')
})

test('own parameters: an upstream takes the name of none, and its other filters stay', async (t) => {
  const { names } = await takeAllNames(t)
  const offer_resource = { sort: 'x', zone: 'z' }
  const items = [listingText({ listing_id: 'one', offer_resource })]
  const fake = await startFake(t, { items, filterSpec: specOf([...names, 'zone']) })
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url }])
  t.is((await gateway.get('/listings?zone=z&sort=price')).json().total_after_filter, 1)
  t.is((await gateway.get('/listings?sort=x')).status, 400)
  const { filters } = (await gateway.get('/filter-spec')).json() as { filters: { name: string }[] }
  t.deepEqual(
    filters.map(({ name }) => name).filter((name) => name === 'zone' || names.includes(name)),
    ['zone'],
  )
})
