import { once } from 'node:events'
import { type ClientRequestArgs, type IncomingMessage, type RequestListener, request } from 'node:http'
import type { ExecutionContext } from 'ava'
import test from 'ava'
import { MAX_BODY_BYTES } from '../../../src/http/middleware/body.ts'
import { TRUSTED, trustOurAuthority } from '../../helpers/certificates.ts'
import { eventually } from '../../helpers/eventually.ts'
import { deadUrl } from '../../helpers/fake-registry.ts'
import { listen } from '../../helpers/listen.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { openMarket } from '../../helpers/market.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { type Nginx, startProxy, startTlsSite } from './nginx.ts'

async function proxyOver(t: ExecutionContext, gateways: readonly string[]): Promise<Nginx> {
  const proxy = await startProxy(gateways)
  t.teardown(() => proxy.close())
  return proxy
}

/** A stand-in for a replica. It answers 200 to `/health`, which is polled until the proxy runs. */
const standIn = (t: ExecutionContext, listener: RequestListener): Promise<string> =>
  listen(t, (incoming, answer) => (incoming.url === '/health' ? answer.end() : listener(incoming, answer)))

type ProxyAnswer = { status: number; text: string }

/** `localAddress`: the client's loopback address. */
async function send(url: string, options: ClientRequestArgs = {}, body?: string): Promise<ProxyAnswer> {
  const outgoing = request(url, { agent: false, ...options })
  outgoing.end(body)
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  let text = ''
  for await (const part of answer.setEncoding('utf8')) text += part
  return { status: answer.statusCode!, text }
}

test('proxy: the other replica answers every request while one is down', async (t) => {
  const { url } = await startRegistry(t)
  const proxy = await proxyOver(t, [deadUrl(), url])
  for (let n = 0; n < 20; n++) t.is((await send(`${proxy.url}/listings?limit=${n + 1}`)).status, 200)
  const posted = await send(`${proxy.url}/api/v1/listings/validate-publish`, { method: 'POST' }, '{}')
  t.is(posted.status, 422, 'a POST that could not be sent is sent to the other')
  t.is(proxy.output(), '', 'no line for each request that was tried there')
})

test('proxy: answers arrive compressed and without its version, and no request is logged', async (t) => {
  const { url } = await startRegistry(t)
  const proxy = await proxyOver(t, [url, url])
  const { headers } = await fetch(`${proxy.url}/openapi.json`, { headers: { 'Accept-Encoding': 'gzip' } })
  t.deepEqual([headers.get('content-encoding'), headers.get('server')], ['gzip', 'nginx'])
  const bearer = { headers: { Authorization: 'Bearer key-1' } }
  t.is((await fetch(`${proxy.url}/listings?gpu_model=H200`, bearer)).status, 200)
  t.is(proxy.output(), '')
})

const DYING: readonly [method: string, path: string, isRepeated: boolean][] = [
  ['GET', '/listings', true],
  ['GET', '/sources', true],
  ['PUT', '/listings/a', true],
  ['DELETE', '/listings/a', true],
  ['POST', '/listings', true],
  ['POST', '/mcp', true],
  ['POST', '/admin/api-keys', false],
]

for (const [method, path, isRepeated] of DYING)
  test(`proxy: ${method} ${path} on a dying replica is ${isRepeated ? '' : 'not '}repeated`, async (t) => {
    const seen: string[] = []
    const dying = await standIn(t, ({ socket }) => {
      seen.push('dying')
      socket.destroy()
    })
    const other = await standIn(t, (incoming, answer) => {
      seen.push(`other ${incoming.method} ${incoming.url}`)
      answer.end('well')
    })
    const proxy = await proxyOver(t, [dying, other])
    // Replicas alternate, so one of two requests reaches the dying one.
    const answers = []
    for (let n = 0; n < 2; n++) answers.push(await send(`${proxy.url}${path}`, { method }, 'x'))
    t.is(seen.filter((name) => name === 'dying').length, 1)
    t.deepEqual(answers.map(({ status }) => status).sort(), isRepeated ? [200, 200] : [200, 503])
    t.is(seen.length, isRepeated ? 3 : 2)
  })

test('proxy: only the TLS proxy sets client addresses, other claims are dropped', async (t) => {
  const { url } = await startRegistry(t, {
    toml: '[limits]\nanonymous_per_minute = 2\ntrusted_proxies = ["127.0.0.1/32"]',
  })
  const proxy = await proxyOver(t, [url, deadUrl()])
  const statuses = async (forwarded: readonly (string | undefined)[], localAddress = '127.0.0.1') => {
    const found = []
    for (const [n, claim] of forwarded.entries()) {
      const headers = claim === undefined ? {} : { 'X-Forwarded-For': claim }
      found.push((await send(`${proxy.url}/listings?limit=${n + 1}`, { localAddress, headers })).status)
    }
    return found
  }
  t.deepEqual(await statuses(['203.0.113.5', '203.0.113.5', '203.0.113.5']), [200, 200, 429])
  t.deepEqual(await statuses(['203.0.113.6']), [200], 'another client has limits of its own')
  const lies = ['192.0.2.1, 203.0.113.7', '192.0.2.2, 203.0.113.7', '192.0.2.3, 203.0.113.7']
  t.deepEqual(await statuses(lies), [200, 200, 429], 'what a client put before its own address')
  const claims = ['203.0.113.8', '203.0.113.9', undefined]
  t.deepEqual(await statuses(claims, '127.0.0.2'), [200, 200, 429], 'a client that reaches the proxy itself')
})

test("proxy: passes path, query and the gateways' headers unchanged", async (t) => {
  let seen: IncomingMessage | undefined
  const gateway = await standIn(t, (incoming, answer) => {
    seen = incoming
    answer.end()
  })
  const proxy = await proxyOver(t, [gateway, deadUrl()])
  const path = '/listings/a%2Fb%20c//d?region=New%20York%2C%20US&x=%25'
  const headers = {
    Authorization: 'Bearer key',
    'If-Match': '"etag"',
    'CDN-Loop': 'one, two',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    Host: 'market.example',
    'X-Request-Id': 'mine',
  }
  await send(`${proxy.url}${path}`, { headers })
  t.is(seen?.url, path)
  t.like(
    seen?.headers,
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
  )
  t.is(seen?.headers['x-forwarded-for'], '127.0.0.1')
})

for (const path of ['/listings', '/mcp'])
  test(`proxy: the first line of ${path} arrives before the second is written`, async (t) => {
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
    const gateway = await standIn(t, async (_, answer) => {
      answer.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
      answer.write('{"first":1}\n')
      await isRead
      answer.end('{"second":2}\n')
    })
    const proxy = await proxyOver(t, [gateway, deadUrl()])
    const outgoing = request(`${proxy.url}${path}`, { agent: false })
    outgoing.end()
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    const lines = answer.setEncoding('utf8')[Symbol.asyncIterator]()
    t.is((await lines.next()).value, '{"first":1}\n')
    read()
    t.is((await lines.next()).value, '{"second":2}\n')
  })

test('proxy: a request line of 64 KiB passes, a longer one is a 431 problem', async (t) => {
  const { url } = await startRegistry(t)
  const proxy = await proxyOver(t, [url, url])
  t.is((await send(`${proxy.url}/listings?region=${'x'.repeat(60_000)}`)).status, 200)
  for (const [path, headers] of [
    [`/listings?region=${'x'.repeat(65_000)}`, { 'X-More': 'x'.repeat(2000) }],
    [`/listings?region=${'x'.repeat(70_000)}`, {}],
    ['/listings', { 'X-More': 'x'.repeat(70_000) }],
  ] as const) {
    const { status, text } = await send(`${proxy.url}${path}`, { headers })
    t.is(status, 431)
    t.like(JSON.parse(text), { status: 431, type: 'urn:entrepot:problem:headers_too_large' })
    t.regex(JSON.parse(text).detail, /65536 bytes/)
  }
})

test('proxy: response headers of 32 KiB pass', async (t) => {
  const gateway = await standIn(t, (_, answer) => {
    for (let n = 0; n < 30; n++) answer.setHeader(`X-${n}`, 'x'.repeat(1000))
    answer.end('well')
  })
  const proxy = await proxyOver(t, [gateway, gateway])
  for (const path of ['/listings', '/sources', '/mcp'])
    t.deepEqual(await send(`${proxy.url}${path}`, { maxHeaderSize: 2 ** 16 }), { status: 200, text: 'well' })
})

test('proxy: its own errors are problems like those of the gateways', async (t) => {
  const withoutGateway = await proxyOver(t, [deadUrl(), deadUrl()])
  const { url } = await startRegistry(t)
  const withGateway = await proxyOver(t, [url, deadUrl()])
  for (const [status, pending] of [
    [503, fetch(`${withoutGateway.url}/listings`)],
    [413, fetch(`${withGateway.url}/listings`, { method: 'POST', body: 'x'.repeat(600 * 1024) })],
  ] as const) {
    const answer = await pending
    t.is(answer.status, status)
    t.is(answer.headers.get('content-type'), 'application/problem+json')
    t.is(answer.headers.get('access-control-allow-origin'), '*')
    const problem = (await answer.json()) as Record<string, unknown>
    t.is(problem.status, status)
    t.is(typeof problem.detail, 'string')
  }
  const own = await fetch(`${withGateway.url}/listings`, {
    method: 'POST',
    body: 'x'.repeat(MAX_BODY_BYTES + 1),
  })
  t.is(own.status, 413)
  t.regex(await own.text(), /larger than \d+ bytes/, 'problems of a gateway are passed on')
})

test('proxy: a stream of changes passes as it is sent, comments of a silent one included', async (t) => {
  const clock = manualClock()
  const market = await openMarket(t, { clock })
  const proxy = await proxyOver(t, [market.url, deadUrl()])
  const outgoing = request(`${proxy.url}/changes`, { headers: { Accept: 'text/event-stream' } }).end()
  t.teardown(() => outgoing.destroy())
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  let text = ''
  answer.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  await eventually('began', () => text.startsWith('retry: '))
  await market.publish({ listing_id: 'a', offer_resource: {}, storefront_url: 'https://a.example' })
  await eventually('sent', () => text.includes('"listing_id":"a"'))
  await eventually('silent', () => {
    clock.advance(1000)
    return /\n:\nid: \S+\n\n$/.test(text)
  })
  t.false(answer.complete)
})

test('TLS: nginx redirects, speaks TLS with HSTS, and drops the addresses that clients claim', async (t) => {
  trustOurAuthority()
  const toml = '[limits]\nanonymous_per_minute = 2\ntrusted_proxies = ["127.0.0.1/32"]'
  const { url } = await startRegistry(t, { toml })
  const site = await startTlsSite(url, TRUSTED)
  t.teardown(() => site.close())
  const moved = await fetch(`${site.plainUrl}/listings?limit=1`, { redirect: 'manual' })
  t.deepEqual([moved.status, moved.headers.get('location')], [301, 'https://127.0.0.1/listings?limit=1'])
  const statuses = []
  for (const claim of ['203.0.113.5', '203.0.113.6', '203.0.113.7']) {
    const answer = await fetch(`${site.url}/listings?limit=${claim.at(-1)}`, {
      headers: { 'X-Forwarded-For': claim },
    })
    statuses.push(answer.status)
    t.is(answer.headers.get('strict-transport-security'), 'max-age=31536000')
  }
  t.deepEqual(statuses, [200, 200, 429], 'one client, whatever it claims')
})
