/**
 * One request and its answer, for OpenAPI, `/docs` and `docs/api.md`; `test/integration/http/openapi.test.ts` checks each
 * against its schema.
 */
export type RouteExample = {
  /** Values of path and query parameters. */
  parameters?: Readonly<Record<string, string>>
  headers?: Readonly<Record<string, string>>
  body?: unknown
  /** Of the first success. Absent: no body, or text that is not JSON. */
  answer?: unknown
}

/** @param isGateway whether the service answers for several sources */
export function routeExample(method: string, path: string, isGateway: boolean): RouteExample {
  const key = `${method} ${path}`
  return (isGateway ? undefined : REGISTRY_EXAMPLES[key]) ?? EXAMPLES[key] ?? {}
}

const SELLER = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const ID = '8x-h200-tokyo'
const PUBLISHED_AT = '2026-11-20T09:30:00.000000'
const SEEN_AT = '2026-11-22T10:15:30.000Z'
const SIGNATURE = '0x…'
const TIMESTAMP = 1795341330

const TOKEN = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'

const OFFER = {
  listing_id: ID,
  storefront_url: 'https://storefront.example',
  offer_resource: {
    gpu_model: 'H200',
    gpu_count: 8,
    region: 'Tokyo',
    vcpu_count: 192,
    ram_gb: 1536,
    sla: 99.5,
  },
  accepted_escrows: [
    {
      chain_name: 'base',
      escrow_address: '0xbb8a3d1c1f70e5bdb8f9e4f0f1d1b1a2c3d4e5f6',
      literal_fields: { token: TOKEN },
      rates: [{ field: 'amount', per: 'hour', value: '16800000' }],
    },
  ],
  demands: [],
  max_duration_seconds: 604800,
}

const LISTING = {
  ...OFFER,
  publisher_id: 1,
  oracle_address: null,
  status: 'open',
  created_at: PUBLISHED_AT,
  updated_at: PUBLISHED_AT,
}

const PRICE = {
  chain: 'base',
  token: TOKEN,
  symbol: 'USDC',
  decimals: 6,
  value: '16800000',
  per: 'hour',
  unit: 'hour',
  gpus: 8,
  price_per: 'gpu',
  amount: '2.1',
}

const MERGED = {
  ...LISTING,
  _meta: { registry: 'open-market', also_in: ['local'], stale: false, publisher: SELLER, price: PRICE },
}

/** The cheapest H200 now. */
const CHEAPEST = { gpu: 'H200', sort: 'price', limit: '1' }

const SOURCE_REPORTS = [
  {
    registry: 'local',
    mode: 'local',
    state: 'loaded',
    matched: 1,
    returned: 0,
    age_seconds: 0,
    elapsed_ms: 0,
  },
  { registry: 'open-market', state: 'loaded', matched: 1, returned: 1, age_seconds: 3, elapsed_ms: 0 },
]

const RECEIPT = {
  listing_id: ID,
  publisher_id: 1,
  status: 'open',
  created_at: PUBLISHED_AT,
  updated_at: PUBLISHED_AT,
}

const PUBLISHER = {
  publisher_id: 1,
  storefront_url: 'https://storefront.example',
  identities: [{ scheme: 'eip191', identifier: SELLER }],
  created_at: PUBLISHED_AT,
}

const SOURCE = {
  registry: 'open-market',
  visibility: 'public',
  state: 'loaded',
  age_seconds: 3,
  last_error: null,
  schema_id: 'vms.compute',
  filters: ['region', 'gpu_model', 'gpu_count_min'],
  listings: 128,
}

const RELOADED = {
  upstreams: { added: ['curated'], removed: [], changed: ['open-market'] },
  changed: ['limits', 'filter_spec'],
  restart_needed: [],
  ms: 120,
}

const DETAILS = {
  ...SOURCE,
  breaker: { state: 'closed', failures_in_a_row: 0, retry_at: null, suspended: null },
  bytes: 183500,
  calls: { made: 42, failed: 1, retried: 1, failures_by_reason: { timeout: 1 }, ended: 42, elapsed_ms: 1890 },
  items: { received: 128, invalid: 0 },
  failures: [{ reason: 'timeout', at: SEEN_AT, detail: 'no answer within 2500 ms' }],
  certificate_ends_at: '2027-02-20T12:00:00.000Z',
}

/** The first two of sixty minutes. */
const TRAFFIC = {
  from: '2026-11-22T09:16:00.000Z',
  total: { requests: 96, errors: 0, hits: 90, lookups: 96, p50_ms: 2, p95_ms: 12 },
  minutes: {
    requests: [42, 54],
    errors: [0, 0],
    hits: [40, 50],
    lookups: [42, 54],
    p50_ms: [2, 2],
    p95_ms: [12, 10],
  },
}

const REPLICA = 'gateway-1'

const FLEET = {
  at: SEEN_AT,
  answered_by: REPLICA,
  scope: 'all',
  note: null,
  replicas: [
    {
      id: REPLICA,
      version: '0.3.0',
      started_at: SEEN_AT,
      age_seconds: 0,
      reload: { at: SEEN_AT, error: null },
      total: TRAFFIC.total,
      watchers: 2,
      inconsistencies: 0,
      states: { loaded: 1 },
    },
  ],
  traffic: TRAFFIC,
  sources: [{ ...DETAILS, replicas: { [REPLICA]: 'loaded' } }],
  changes: [
    {
      at: SEEN_AT,
      registry: 'open-market',
      part: 'state',
      from: 'stale',
      to: 'loaded',
      reason: null,
      replica: REPLICA,
    },
  ],
}

const SELLER_BLOCK = {
  id: 7,
  subject: '0x7a3b9c1d2e4f5061728394a5b6c7d8e9f0a1b2c3',
  source: null,
  reason: 'took the deposit, ticket 812',
  by: 'operator',
  created_at: '2026-11-24T09:30:00.000001',
  until: '2027-01-01T00:00:00.000000',
  ended_at: null,
}

const BLOCKED = {
  at: '2026-11-24T09:30:00.000417',
  kind: 'operator',
  by: 'ann',
  key_id: 4,
  publisher: null,
  act: 'block.add',
  subject: SELLER_BLOCK.subject,
  client: '5e1b6c0d9a2f',
  result: 'ok',
}

const KEY = {
  id: 2,
  name: 'alice',
  scope: 'read',
  created_at: PUBLISHED_AT,
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
  calls: 0,
}

const { revoked_at, last_used_at, calls, ...MINTED } = { ...KEY, key: 'Zk3…' }

const POSITION = 'Zq3…'
const CHANGED = { key: `${SELLER}/${ID}`, listing_id: ID, publisher: SELLER }

const EXAMPLES: Readonly<Record<string, RouteExample>> = {
  'GET /listings': {
    parameters: CHEAPEST,
    answer: {
      items: [MERGED],
      count: 1,
      total_after_filter: 1,
      complete: true,
      sources: SOURCE_REPORTS,
    },
  },
  'GET /changes': {
    parameters: { gpu: 'H200', since: POSITION },
    answer: {
      changes: [
        { type: 'listing', ...CHANGED, listing: MERGED },
        { type: 'removed', ...CHANGED, key: `${SELLER}/4x-h200-osaka`, listing_id: '4x-h200-osaka' },
      ],
      position: POSITION,
      more: false,
      complete: true,
      sources: [
        { registry: 'local', state: 'loaded' },
        { registry: 'open-market', state: 'loaded' },
      ],
    },
  },
  'GET /vocabulary': {
    answer: {
      filters: ['gpu', 'gpu_variant', 'country', 'continent', 'gpus_min'],
      gpus: [
        {
          gpu: 'H200',
          vendor: 'NVIDIA',
          memory_gb: [141],
          listings: 2,
          spellings: [
            { text: 'H200', count: 1 },
            { text: 'h200-sxm5-141gb', count: 1 },
          ],
        },
      ],
      countries: [{ country: 'JP', name: 'Japan', continent: 'AS', listings: 3 }],
      not_recognised: [{ source: 'local', field: 'region', text: 'MON1', count: 1 }],
      complete: true,
      sources: SOURCE_REPORTS,
    },
  },
  'GET /facets': {
    parameters: { by: 'gpu', country: 'JP' },
    answer: {
      total: 3,
      gpus: 17,
      sellers: 2,
      facets: {
        gpu: {
          values: [
            { value: 'H200', count: 2 },
            { value: 'A100', count: 1 },
          ],
          other: 0,
          missing: 0,
        },
      },
      prices: [
        {
          symbol: 'USDC',
          chains: [
            { chain: 'base', offers: 2 },
            { chain: 'ethereum', offers: 1 },
          ],
          decimals: 6,
          unit: 'hour',
          price_per: 'gpu',
          offers: 3,
          gpus: 17,
          least: '0.9',
          least_gpus: 1,
          median: '2.1',
          most: '2.4',
        },
      ],
      not_counted: {},
      summary:
        'Cheapest 0.90 USDC/GPU·h, median 2.10, of 3 listings by 2 sellers. 2 of 2 answered, the oldest reading is 12 s old.',
      complete: true,
      sources: SOURCE_REPORTS,
    },
  },
  'GET /tokens': {
    answer: { tokens: [{ chain: 'base', address: TOKEN, symbol: 'USDC', decimals: 6 }] },
  },
  'GET /listings/:id': {
    parameters: { id: ID },
    answer: { listing: { ...MERGED, _meta: { ...MERGED._meta, age_seconds: 3 } } },
  },
  'POST /listings': {
    body: { identifier: SELLER, signature: SIGNATURE, timestamp: TIMESTAMP, ...OFFER },
    answer: RECEIPT,
  },
  'PUT /listings/:id': {
    parameters: { id: ID },
    body: { signature: SIGNATURE, timestamp: TIMESTAMP, status: 'closed' },
    answer: { listing_id: ID, status: 'closed', updated_at: PUBLISHED_AT },
  },
  'DELETE /listings/:id': { parameters: { id: ID, signature: SIGNATURE, timestamp: String(TIMESTAMP) } },
  'POST /api/v1/listings/validate-publish': {
    body: OFFER,
    answer: {
      valid: true,
      listing_id: ID,
      offer_resource_type: 'compute',
      accepted_escrows_count: 1,
      errors: [],
    },
  },
  'GET /publishers': {
    parameters: { identifier: SELLER },
    answer: { items: [PUBLISHER], count: 1 },
  },
  'GET /publishers/:publisher_id': { parameters: { publisher_id: '1' }, answer: PUBLISHER },
  'GET /api/v1/system/stats': {
    answer: {
      publisher_count: 1,
      order_count: 3,
      orders_by_status: { open: 2, closed: 1, expired: 0 },
    },
  },
  'GET /sources': { answer: { sources: [SOURCE], total: 1 } },
  'GET /admin/sources': { answer: { sources: [DETAILS] } },
  'POST /admin/sources/:name/refresh': { parameters: { name: 'open-market' } },
  'POST /admin/sources/:name/probe': { parameters: { name: 'open-market' }, answer: DETAILS },
  'GET /filter-spec': {
    answer: {
      version: 4,
      etag: '874679e2…',
      listing_shape: { type: 'object', required: ['listing_id', 'offer_resource'] },
      filters: [
        {
          name: 'gpu_model',
          path: '$.offer_resource.gpu_model',
          op: 'in',
          value_type: 'string',
          alias_kind: null,
          on_missing: 'fail',
          indexed: false,
        },
      ],
      schema: { id: 'vms.compute', version: 1 },
    },
  },
  'POST /mcp': {
    headers: { Accept: 'application/json, text/event-stream' },
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'search_listings', arguments: { filters: { gpu: 'H200' } } },
    },
    answer: {
      jsonrpc: '2.0',
      id: 1,
      result: {
        content: [
          {
            type: 'text',
            text: 'Complete: 2 of 2 answered, oldest reading 1 s. No listing matches.',
          },
        ],
      },
    },
  },
  'POST /admin/api-keys': { body: { name: 'alice', scope: 'read' }, answer: MINTED },
  'POST /admin/api-keys/rotate': {
    body: { name: 'alice', overlap_seconds: 7200 },
    answer: { ...MINTED, id: 3, replaces: { id: 2, expires_at: '2026-11-20T12:00:00.000000' } },
  },
  'GET /admin/api-keys': { answer: [KEY] },
  'DELETE /admin/api-keys/:key_id': { parameters: { key_id: '2' } },
  'POST /admin/blocks': {
    body: { subject: SELLER_BLOCK.subject, reason: SELLER_BLOCK.reason, until: '2026-12-31' },
    answer: SELLER_BLOCK,
  },
  'GET /admin/blocks': { answer: [SELLER_BLOCK] },
  'DELETE /admin/blocks/:block_id': { parameters: { block_id: '7' } },
  'GET /admin/audit': { parameters: { since: '2026-11-20T15:00:00Z' }, answer: [BLOCKED] },
  'GET /admin/replicas': { answer: FLEET },
  'POST /admin/reload': { answer: RELOADED },
  'GET /admin/reload': { answer: { ...RELOADED, ms: 4 } },
  'GET /live': { answer: { status: 'live' } },
  'GET /health': { answer: { status: 'ok', checks: { api: 'ok', database: 'ok' } } },
  'GET /ready': { answer: { status: 'ready' } },
  'GET /': { headers: { Accept: 'text/html' } },
  'GET /operator': { headers: { Accept: 'text/html' } },
}

/** Of a Registry without upstreams, where they differ. */
const REGISTRY_EXAMPLES: Readonly<Record<string, RouteExample>> = {
  'GET /changes': {
    parameters: { gpu: 'H200', since: POSITION },
    answer: {
      changes: [{ type: 'listing', ...CHANGED, listing: LISTING }],
      position: POSITION,
      more: false,
      complete: true,
      sources: [{ registry: 'local', state: 'loaded' }],
    },
  },
  'GET /listings': {
    parameters: CHEAPEST,
    answer: { items: [{ ...LISTING, _meta: { price: PRICE } }], count: 1, total_after_filter: 1 },
  },
  'GET /listings/:id': { parameters: { id: ID }, answer: { listing: LISTING } },
}
