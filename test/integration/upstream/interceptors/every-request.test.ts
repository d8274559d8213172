import { request } from 'node:http'
import test, { type ExecutionContext } from 'ava'
import type { Interceptor } from '../../../../src/upstream/http/request.ts'
import { listingText, listingTexts } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { listen } from '../../../helpers/listen.ts'
import { startRegistry } from '../../../helpers/registry.ts'
import { runCli, temporaryFile } from '../../../helpers/run-cli.ts'
import { ALICE, AS_ALICE, postJson, publish } from '../../../helpers/seller.ts'

const ADMIN_KEY = 'the-admin-key-of-this-test'
const ADDRESS = `0x${'a'.repeat(40)}`
const MARKER = 'x-marker'

/** The smallest interceptor that is around every request: what it adds has to arrive with each. */
const addMarker: Interceptor = (dispatch) => (sent, handler) =>
  dispatch({ ...sent, headers: { ...sent.headers, [MARKER]: sent.purpose } }, handler)

/** A server in front of another one. It notes each request as its purpose and route. */
async function startRecorder(t: ExecutionContext, target: string) {
  const seen = new Set<string>()
  const url = await listen(t, (incoming, response) => {
    const { method, url: path = '/', headers } = incoming
    seen.add(`${headers[MARKER] ?? 'UNMARKED'} ${routeOf(`${method}`, path, headers.accept)}`)
    const forwarded = request(`${target}${path}`, { method, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    incoming.pipe(forwarded)
  })
  return { url, seen }
}

function routeOf(method: string, path: string, accept = ''): string {
  const { pathname, searchParams } = new URL(path, 'http://recorder')
  const route = pathname.replace(/^(\/(listings|admin\/api-keys))\/.+$/, '$1/{id}')
  const format = accept.includes('ndjson') ? ' NDJSON' : ''
  return `${method} ${route}${searchParams.has('identifier') ? '?identifier' : ''}${format}`
}

/** None lacks the marker, and these are among them. */
function checkSeen(
  t: ExecutionContext,
  seen: readonly string[],
  requests: readonly string[],
  context = '',
): void {
  for (const one of requests) t.true(seen.includes(one), `${one}: ${seen} ${context}`)
  t.deepEqual(
    seen.filter((one) => one.startsWith('UNMARKED')),
    [],
  )
}

test('every request of a gateway passes the same interceptors', async (t) => {
  const large = await startFake(t, { items: listingTexts('large', 300), publishers: [[1, ADDRESS]] })
  const held = await startFake(t, {
    items: [listingText({ listing_id: 'held', publisher_id: 7 })],
    publishers: [[7, `0x${'b'.repeat(40)}`]],
    hasCounts: true,
  })
  const far = await startFake(t, { items: listingTexts('far', 2100), kind: 'gateway' })
  const [first, second, third] = await Promise.all([large, held, far].map(({ url }) => startRecorder(t, url)))
  const settings = 'timeout_ms = 60000\nconnect_timeout_ms = 60000\n'
  const gateway = await startGateway(
    t,
    [
      { name: 'large', url: first!.url, settings: settings },
      { name: 'held', url: second!.url, settings: settings },
      { name: 'far', url: third!.url, settings: `${settings}kind = "gateway"` },
    ],
    {
      interceptors: [addMarker],
      environment: { REGISTRY_ADMIN_API_KEY: ADMIN_KEY },
      more: '[gateway]\nbudget_ms = 60000',
    },
  )
  for (const path of [
    '/listings?limit=5',
    '/listings?status=closed',
    '/listings/large-9999',
    '/facets?by=gpu_model',
  ])
    await gateway.get(path)
  const admin = { Authorization: `Bearer ${ADMIN_KEY}` }
  t.is((await postJson(`${gateway.url}/admin/sources/large/probe`, '', admin)).status, 200)
  for (const [recorder, routes] of [
    [
      first,
      [
        'chosen_page GET /listings',
        'detail GET /filter-spec',
        'detail GET /publishers',
        'listing GET /listings/{id}',
        'page GET /listings',
        'probe GET /listings',
      ],
    ],
    [
      second,
      [
        'detail GET /api/v1/system/stats',
        'detail GET /filter-spec',
        'detail GET /publishers',
        'page GET /listings',
      ],
    ],
    [third, ['detail GET /filter-spec', 'detail GET /listings NDJSON', 'page GET /listings']],
  ] as const)
    checkSeen(t, [...recorder!.seen], routes)
})

const LISTING = JSON.stringify({
  listing_id: 'of-alice',
  storefront_url: 'https://s.example',
  offer_resource: { gpu_model: 'H200' },
})

/** Each command, and the requests that show that it has asked. */
const COMMANDS: readonly (readonly [args: readonly string[], requests: readonly string[]])[] = [
  [['listings'], ['page GET /listings']],
  [
    ['listings', '--filter', 'gpu_model=H200'],
    ['detail GET /filter-spec', 'chosen_page GET /listings'],
  ],
  [['facets', '--by', 'gpu_model'], ['page GET /listings']],
  [['listing', 'first'], ['listing GET /listings/{id}']],
  [['filters'], ['detail GET /filter-spec']],
  [['sources'], ['command GET /sources']],
  [['doctor'], ['command GET /filter-spec']],
  [['validate', 'FILE'], ['command POST /api/v1/listings/validate-publish']],
  [['publish', 'FILE', '--as-is'], ['command POST /listings']],
  [['mine'], ['chosen_page GET /listings', 'detail GET /publishers']],
  [['update', 'of-alice', '--status', 'closed'], ['command PUT /listings/{id}']],
  [['delete', 'of-alice'], ['command DELETE /listings/{id}']],
  [['keys', 'list'], ['command GET /admin/api-keys']],
  [['mcp'], ['page GET /listings', 'listing GET /listings/{id}', 'detail GET /filter-spec']],
]

test('every request of the command line passes the same interceptors', async (t) => {
  const registry = await startRegistry(t, { environment: { REGISTRY_ADMIN_API_KEY: ADMIN_KEY } })
  await publish(registry.url, ALICE, { listing_id: 'first', offer_resource: { gpu_model: 'H200' } })
  const recorder = await startRecorder(t, registry.url)
  const file = temporaryFile(t, 'listing.json', LISTING)
  const env = { ...AS_ALICE, REGISTRY_ADMIN_API_KEY: ADMIN_KEY }
  for (const [args, requests] of COMMANDS) {
    recorder.seen.clear()
    const words = args.map((word) => (word === 'FILE' ? file : word))
    const { stdout, stderr } = await runCli([...words, '-r', recorder.url], {
      env,
      input: args[0] === 'mcp' ? AGENT : '',
      interceptors: [addMarker],
    })
    checkSeen(t, [...recorder.seen], requests, `${args}\n${stdout}${stderr}`)
  }
})

/** What an agent sends on stdin. */
const AGENT = [
  {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  },
  { id: 2, method: 'tools/call', params: { name: 'search_listings', arguments: {} } },
  { id: 3, method: 'tools/call', params: { name: 'get_listing', arguments: { listing_id: 'first' } } },
  { id: 4, method: 'tools/call', params: { name: 'describe_filters', arguments: {} } },
]
  .map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  .join('')
