import test, { type ExecutionContext } from 'ava'
import { ReferenceClient, RegistryClientError } from '../../helpers/reference-client.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { ALICE, BOB, unixNow } from '../../helpers/seller.ts'

const VM = {
  listing_id: 'b7c1f2aa1f0e4f538f1a4a1f6f0c9d02',
  storefront_url: 'http://alice-storefront:8002/',
  offer_resource: {
    gpu_model: 'RTX 4090',
    gpu_count: 1,
    sla: 95.0,
    region: 'New York, US',
    disk_gb: null,
    static_ip: false,
  },
  accepted_escrows: [
    {
      chain_name: 'anvil',
      escrow_address: '0x1111111111111111111111111111111111111111',
      literal_fields: { token: '0x9fe46736679d2d9a65f0992f2272de9f3c7fa6e0' },
      rates: [{ field: 'amount', per: 'hour', value: '10000' }],
    },
  ],
  demands: [{ chain_name: 'anvil', arbiter: '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf', demand_data: {} }],
  max_duration_seconds: 86400,
}

async function refusal(
  t: ExecutionContext,
  promise: Promise<unknown>,
): Promise<[status: number, detail: string]> {
  const error = await t.throwsAsync(promise, { instanceOf: RegistryClientError })
  return [error!.status, JSON.parse(error!.body).detail]
}

test('reference client: a seller publishes, closes, opens and deletes', async (t) => {
  const { url } = await startRegistry(t)
  const client = new ReferenceClient(`${url}/`)
  const dryRun = await client.validatePublishListing(VM)
  t.like(dryRun, { valid: true, offer_resource_type: 'compute', accepted_escrows_count: 1, errors: [] })
  const published = await client.publishListing(VM, ALICE)
  t.is(published.listing_id, VM.listing_id)
  t.true(Number.isInteger(published.publisher_id))

  const row = await client.getListing(VM.listing_id)
  t.like(row, { ...VM, publisher_id: published.publisher_id, oracle_address: null, status: 'open' })
  t.regex(String(row.created_at).split('.')[0]!.replace('T', ' '), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)

  t.is((await client.updateListing(VM.listing_id, { status: 'closed' }, ALICE)).status, 'closed')
  t.deepEqual(await client.listListings(), [])
  t.deepEqual(await client.listListings({ status: null }), [], 'no status at all means open')
  t.is((await client.listListings({ status: '' })).length, 1)
  t.is((await client.listListings({ status: 'closed', publisher: ALICE.address })).length, 1)

  await client.deleteListing(VM.listing_id, ALICE)
  t.deepEqual(await refusal(t, client.getListing(VM.listing_id)), [404, 'Listing not found'])
  t.deepEqual(await refusal(t, client.deleteListing('nope', ALICE)), [404, 'Listing not found'])
})

test('reference client: a buyer filters, pages and pins the filter spec', async (t) => {
  const { url } = await startRegistry(t)
  const client = new ReferenceClient(url)
  await client.publishListing(VM, ALICE)
  await client.publishListing(
    { ...VM, listing_id: 'other', offer_resource: { gpu_model: 'H200', region: 'Tokyo, JP' } },
    ALICE,
  )
  const { etag, filters } = (await client.getFilterSpec()) as { etag: string; filters: { name: string }[] }
  t.true(filters.some(({ name }) => name === 'gpu_model'))
  const ids = async (...asked: Parameters<ReferenceClient['listListings']>): Promise<unknown[]> =>
    (await client.listListings(...asked)).map(({ listing_id }) => listing_id)
  t.deepEqual(await ids({ etag }), ['other', VM.listing_id])
  t.deepEqual(await ids({ etag, filters: { gpu_model: 'RTX 4090', gpu_count_min: 1, static_ip: false } }), [
    VM.listing_id,
  ])
  t.deepEqual(await ids({ limit: 1, offset: 1 }), [VM.listing_id])
  t.deepEqual(await ids({ filters: { region: null, gpu_model: 'in:[H200,B200]' } }), ['other'])
  t.deepEqual((await refusal(t, client.listListings({ etag: '0' })))[0], 412)
  t.deepEqual(await refusal(t, client.listListings({ filters: { banana: 1 } })), [
    400,
    "unknown filter: 'banana'",
  ])
})

test('reference client: health, stats and publishers have the members it reads', async (t) => {
  const { url } = await startRegistry(t)
  const client = new ReferenceClient(url)
  const { publisher_id } = await client.publishListing(VM, ALICE)
  t.deepEqual(await client.getHealth(), { status: 'ok', checks: { api: 'ok', database: 'ok' } })
  t.deepEqual(await client.getSystemStats(), {
    publisher_count: 1,
    order_count: 1,
    orders_by_status: { open: 1, closed: 0, expired: 0 },
  })
  const [publisher] = await client.listPublishers({
    identifier: ALICE.address,
    scheme: 'eip191',
    limit: '1',
    offset: '0',
  })
  t.like(publisher, { publisher_id, storefront_url: VM.storefront_url })
  t.deepEqual(publisher?.identities, [{ scheme: 'eip191', identifier: ALICE.address.toLowerCase() }])
  t.deepEqual(await client.getPublisher(Number(publisher_id)), publisher)
  t.deepEqual(await refusal(t, client.getPublisher(99)), [404, 'Publisher not found'])
})

/** Asks each Registry in turn as a buyer does: 50 newest, the first Registry wins, one that fails is skipped. */
async function union(registries: ReferenceClient[]): Promise<Map<unknown, unknown>> {
  const found = new Map<unknown, unknown>()
  for (const registry of registries) {
    const rows = await registry.listListings({ limit: 200 }).catch(() => [])
    for (const row of rows) if (!found.has(row.listing_id)) found.set(row.listing_id, row)
  }
  return found
}

test('reference client: one public and one private Registry, two sellers, one buyer', async (t) => {
  const token = 'test-buyer-token'
  const a = await startRegistry(t)
  const b = await startRegistry(t, {
    environment: {
      REGISTRY_REQUIRE_READ_API_KEY: 'true',
      REGISTRY_REQUIRE_WRITE_API_KEY: 'true',
      REGISTRY_ADMIN_API_KEY: 'test-admin-token',
      REGISTRY_BOOTSTRAP_API_KEY: token,
    },
  })
  // Two changes of one listing in one second carry one signature, of which the second is refused.
  let second = unixNow()
  const open = new ReferenceClient(a.url, null, () => second++)
  const gated = new ReferenceClient(b.url, token, () => second++)
  const stranger = new ReferenceClient(b.url)

  const bobs = { ...VM, listing_id: 'bobs', storefront_url: 'http://bob-storefront:8001/' }
  for (const registry of [open, gated]) {
    t.like(await registry.getHealth(), { status: 'ok', checks: { database: 'ok' } })
    await refusal(t, registry.deleteListing('write-gate-probe', BOB))
    t.is((await registry.validatePublishListing(bobs)).valid, true)
    await registry.publishListing(bobs, BOB)
    for (const status of ['closed', 'open'])
      t.is((await registry.updateListing('bobs', { status }, BOB)).status, status)
  }
  await open.publishListing({ ...VM, listing_id: 'alices' }, ALICE)

  t.is((await open.getListing('bobs')).status, 'open')
  t.is((await gated.getListing('bobs')).status, 'open')
  t.deepEqual(await refusal(t, gated.getListing('alices')), [404, 'Listing not found'])
  t.deepEqual(await refusal(t, stranger.getListing('bobs')), [401, 'API key required'])
  t.deepEqual(await refusal(t, stranger.publishListing(bobs, BOB)), [401, 'API key required'])
  t.deepEqual(await refusal(t, stranger.deleteListing('write-gate-probe', BOB)), [401, 'API key required'])

  const dead = new ReferenceClient('http://127.0.0.1:1')
  t.deepEqual([...(await union([open, dead, gated])).keys()].sort(), ['alices', 'bobs'])
})
