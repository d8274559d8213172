import test from 'ava'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import type { Reply } from '../../helpers/registry.ts'
import { ALICE, postJson, publish } from '../../helpers/seller.ts'

const ADMIN = { Authorization: 'Bearer admin' }
const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
const NOTHING = "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'"

const LIST_TOOLS = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

/** Of a page: each directive of its policy. */
const directives = (policy: string | null): Map<string, string> =>
  new Map((policy ?? '').split(';').map((text) => text.trim().split(/ (.*)/s) as [string, string]))

const isPage = ({ headers }: Reply): boolean => headers.get('content-type')?.startsWith('text/html') ?? false

test('security headers: on every response, whatever its status', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const { url, get } = await startGateway(t, [{ name: 'a', url: fake.url }], { environment })
  t.is((await publish(url, ALICE, { listing_id: 'mine' })).status, 201)
  const etag = (await get('/filter-spec')).headers.get('etag')!
  const asked: readonly [status: number, reply: Promise<Reply>][] = [
    [200, get('/listings')],
    [200, get('/listings', { Accept: 'application/x-ndjson' })],
    [200, get('/listings/mine')],
    [304, get('/filter-spec', { 'If-None-Match': etag })],
    [401, get('/metrics')],
    [200, get('/metrics', ADMIN)],
    [404, get('/listings/none')],
    [404, get('/nowhere')],
    [422, get('/listings?limit=0')],
    [404, get('/listings/%ff')],
    [422, postJson(`${url}/listings`, '{')],
    [200, get('/docs', { Accept: 'text/html' })],
    [200, get('/', { Accept: 'text/html' })],
    [404, get('/assets/web/base.css')],
    [200, postJson(`${url}/mcp`, LIST_TOOLS, { Accept: 'application/json, text/event-stream' })],
    [403, postJson(`${url}/mcp`, LIST_TOOLS, { Origin: 'https://page.example' })],
    [200, get('/openapi.json')],
    [200, get('/health')],
  ]
  for (const [status, asking] of asked) {
    const reply = await asking
    t.is(reply.status, status)
    t.is(reply.headers.get('x-content-type-options'), 'nosniff')
    t.is(reply.headers.get('referrer-policy'), 'no-referrer')
    t.is(
      reply.headers.get('cross-origin-resource-policy'),
      'cross-origin',
      'other origins may read the market',
    )
    t.is(reply.headers.get('x-powered-by'), null)
    t.is(reply.headers.get('strict-transport-security'), null, 'is for what ends TLS to say')
    if (!isPage(reply)) t.is(reply.headers.get('content-security-policy'), NOTHING)
  }
})

test('security headers: pages load nothing foreign, run nothing inline, cannot be framed', async (t) => {
  const fake = await startFake(t)
  const { get } = await startGateway(t, [{ name: 'a', url: fake.url }], { environment })
  for (const path of ['/', '/operator', '/docs']) {
    const reply = await get(path, { Accept: 'text/html' })
    t.true(isPage(reply), path)
    if (path !== '/docs') t.notRegex(reply.text, /https?:|\/\/|=["']\//, 'relative addresses only')
    t.notRegex(reply.text, /\son\w+=|style="/, 'nothing inline')
    t.is(reply.headers.get('x-frame-options'), 'DENY')
    t.is(reply.headers.get('cross-origin-opener-policy'), 'same-origin')
    t.is(reply.headers.get('origin-agent-cluster'), '?1')
    t.is(reply.headers.get('x-dns-prefetch-control'), 'off')
    const policy = directives(reply.headers.get('content-security-policy'))
    t.is(policy.get('default-src'), "'none'")
    t.is(policy.get('connect-src'), "'self'")
    t.regex(policy.get('script-src') ?? '', /^'self'( 'sha256-[\w+/=]+')*$/)
    t.is(policy.get('base-uri'), "'none'")
    t.is(policy.get('frame-ancestors'), "'none'")
    for (const [name, sources] of policy) {
      t.notRegex(sources, /unsafe-|\*|https?:/, `${path}: ${name}`)
      if (name !== 'img-src') t.notRegex(sources, /data:/, `${path}: ${name}`)
    }
  }
})
