import test from 'ava'
import { escrow } from '../../../helpers/escrow.ts'
import { listingText } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { startRegistry } from '../../../helpers/registry.ts'

const listing = (listing_id: string, value: string, offer_resource: object): string =>
  listingText({ listing_id, offer_resource, accepted_escrows: [escrow(value)] })

type Answer = {
  items: object[]
  near_misses?: { differs: object; listing: { listing_id: string; _meta: { price: { amount: string } } } }[]
}

const ITEMS = [
  listing('four', '8400000', { gpu_model: 'H100', gpu_count: 4, region: 'Tokyo, JP', sla: 99.5 }),
  listing('one', '2000000', { gpu_model: 'H100', gpu_count: 1, region: 'Tokyo, JP', sla: 99.5 }),
  listing('far', '18400000', { gpu_model: 'H100', gpu_count: 8, region: 'Frankfurt, DE', sla: 99.5 }),
  listing('dear', '24000000', { gpu_model: 'H100', gpu_count: 8, region: 'Frankfurt, DE', sla: 99.5 }),
  listing('weak', '16480000', { gpu_model: 'H100', gpu_count: 8, region: 'Tokyo, JP', sla: 98 }),
  listing('other', '100', { gpu_model: 'L4', gpu_count: 1, region: 'Reykjavik, IS', sla: 90 }),
].sort()

test('near misses: in place of an empty page, the closest listings, each of which differs in one thing', async (t) => {
  const fake = await startFake(t, { items: ITEMS })
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url }])
  const read = async (query: string) => (await gateway.get(`/listings?${query}`)).json() as Answer
  const missesOf = async (query: string) =>
    (await read(query)).near_misses?.map(({ differs, listing }) => [listing.listing_id, differs])
  const asked = 'gpu=H100&gpu_count_min=8&region=Tokyo, JP&sla=99.5'
  t.deepEqual(await missesOf(asked), [
    ['weak', { filter: 'sla', wanted: '99.5', has: 98 }],
    ['four', { filter: 'gpu_count_min', wanted: '8', has: 4 }],
    ['far', { filter: 'region', wanted: 'Tokyo, JP', has: 'Frankfurt, DE' }],
  ])
  const { items, near_misses = [] } = await read(asked)
  t.deepEqual([items, near_misses[2]?.listing._meta.price.amount], [[], '2.3'])
  t.deepEqual(await missesOf('gpu=H100&price_token=USDC&price_max=1.5&country=JP'), [
    ['one', { filter: 'price_max', wanted: '1.5', has: '2.00 USDC/GPU·h' }],
  ])
  t.is(await missesOf('gpu=B200&gpu_count_min=16&region=Nowhere'), undefined)
  t.is(await missesOf('gpu=H100'), undefined)
})

test('near misses: of a model the memory is near, of a place the continent, and of one condition nothing else', async (t) => {
  const fake = await startFake(t, { items: ITEMS })
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url }])
  for (const [query, near] of [
    ['country=South Korea', 'one'],
    ['country=France', 'other'],
    ['country=Brazil,France', 'other'],
    ['region=Osaka, JP', 'one'],
    ['region=Lyon, FR&gpu=H100', 'far'],
    ['gpu=A100', 'one'],
    ['gpu_model=NVIDIA A100', 'one'],
    ['gpu_model=NVIDIA L4', 'other'],
    ['gpu=B300', undefined],
    ['region=Nowhere', undefined],
    ['country=Brazil', undefined],
    ['country=not_in:[JP,DE,IS]', undefined],
    ['country=Brazil&sla=98', 'weak'],
    ['gpus_min=16', 'weak'],
  ] as const) {
    const { near_misses = [] } = (await gateway.get(`/listings?${query}`)).json() as Answer
    const [first] = near_misses.filter(({ differs }) => !('filter' in differs && differs.filter === 'sla'))
    t.is(first?.listing.listing_id, near, query)
  }
})

test('near misses: pages of a plain Registry have none', async (t) => {
  const registry = await startRegistry(t)
  t.deepEqual(Object.keys((await registry.get('/listings?gpu_count_min=16')).json()), [
    'items',
    'count',
    'total_after_filter',
  ])
})
