import { request } from 'node:http'
import { connect } from 'node:net'
import test from 'ava'
import { openMarket } from '../../helpers/market.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { ALICE, postJson, publish } from '../../helpers/seller.ts'

const PAGE = { Origin: 'https://page.example' }

test('CORS: any origin may read any response without credentials, problems included', async (t) => {
  const { get } = await startRegistry(t)
  for (const path of ['/listings', '/health', '/docs', '/nowhere', '/listings?limit=0', '/admin/api-keys']) {
    for (const headers of [{}, PAGE]) {
      const reply = await get(path, headers)
      t.is(reply.headers.get('access-control-allow-origin'), '*', path)
      t.is(reply.headers.get('access-control-allow-credentials'), null, path)
      t.is(reply.headers.get('x-content-type-options'), 'nosniff', path)
      const exposed = reply.headers.get('access-control-expose-headers')?.split(', ') ?? []
      for (const name of ['ETag', 'Cache-Status', 'RateLimit', 'RateLimit-Policy', 'Retry-After']) {
        t.true(exposed.includes(name), name)
      }
    }
  }
})

test('CORS: a preflight of any path allows the requested headers', async (t) => {
  const { url } = await startRegistry(t, { environment: { REGISTRY_REQUIRE_READ_API_KEY: 'on' } })
  for (const path of ['/listings', '/listings/one', '/nowhere']) {
    const reply = await fetch(`${url}${path}`, {
      method: 'OPTIONS',
      headers: {
        ...PAGE,
        'Access-Control-Request-Method': 'PUT',
        'Access-Control-Request-Headers': 'authorization,content-type',
      },
    })
    t.is(reply.status, 200)
    t.is(await reply.text(), 'OK')
    t.is(reply.headers.get('content-type'), 'text/plain; charset=utf-8')
    t.is(reply.headers.get('access-control-allow-origin'), '*')
    t.is(reply.headers.get('access-control-allow-headers'), 'authorization,content-type')
    t.is(reply.headers.get('access-control-max-age'), '600')
    t.deepEqual(reply.headers.get('access-control-allow-methods')?.split(', ').sort(), [
      'DELETE',
      'GET',
      'HEAD',
      'OPTIONS',
      'POST',
      'PUT',
    ])
  }
})

const ALLOWED: [path: string, allow: string][] = [
  ['/listings', 'GET, HEAD, OPTIONS, POST'],
  ['/listings/one', 'DELETE, GET, HEAD, OPTIONS, PUT'],
  ['/publishers', 'GET, HEAD, OPTIONS'],
  ['/admin/api-keys', 'GET, HEAD, OPTIONS, POST'],
  ['/admin/api-keys/1', 'DELETE, OPTIONS'],
  ['/api/v1/listings/validate-publish', 'OPTIONS, POST'],
]

test('methods: OPTIONS and 405 name the allowed ones', async (t) => {
  const { url } = await startRegistry(t)
  for (const [path, allow] of ALLOWED) {
    const refused = await fetch(`${url}${path}`, { method: 'PATCH' })
    t.is(refused.status, 405)
    t.is(refused.headers.get('allow'), allow)
    t.is(((await refused.json()) as { detail: string }).detail, 'Method Not Allowed')
    const asked = await fetch(`${url}${path}`, { method: 'OPTIONS' })
    t.is(asked.status, 204)
    t.is(asked.headers.get('allow'), allow)
  }
  t.is((await fetch(`${url}/nowhere`, { method: 'OPTIONS' })).status, 404)
})

const GETS = [
  '/live',
  '/health',
  '/ready',
  '/filter-spec',
  '/listings',
  '/listings/one',
  '/listings/nope',
  '/publishers',
  '/publishers/1',
  '/api/v1/system/stats',
  '/openapi.json',
  '/docs',
  '/redoc',
  '/admin/api-keys',
]

test('methods: HEAD has status and headers of GET, also with a trailing slash', async (t) => {
  const { url, get } = await startRegistry(t)
  await publish(url, ALICE, { listing_id: 'one' })
  for (const path of GETS) {
    const full = await get(path)
    for (const [method, suffix] of [
      ['HEAD', ''],
      ['HEAD', '/'],
      ['GET', '/'],
    ]) {
      const reply = await fetch(`${url}${path}${suffix}`, { method: method! })
      t.is(reply.status, full.status, path)
      t.is(reply.headers.get('content-type'), full.headers.get('content-type'))
      t.is(reply.headers.get('content-length'), full.headers.get('content-length'))
      t.is(await reply.text(), method === 'HEAD' ? '' : full.text)
    }
  }
})

test('health: liveness, readiness, health and documentation need no key, and paths are case-sensitive', async (t) => {
  const { get } = await startRegistry(t, { environment: { REGISTRY_REQUIRE_READ_API_KEY: 'on' } })
  for (const path of ['/docs', '/openapi.json']) t.is((await get(path)).status, 200, path)
  t.is((await get('/Live')).status, 404)
  t.deepEqual((await get('/live')).json(), { status: 'live' })
  t.deepEqual((await get('/ready')).json(), { status: 'ready' })
  t.deepEqual((await get('/health')).json(), { status: 'ok', checks: { api: 'ok', database: 'ok' } })
})

test('paths: a percent sign without two hex digits is itself, and bytes that are not UTF-8 are U+FFFD', async (t) => {
  const { url, publish, remove, get, listing } = await openMarket(t)
  const ids = ['%', '%zz', 'a%2', '%C3%A9', '\ufffd', '\ufffd(', '100%é']
  for (const listing_id of ids) t.is((await publish({ listing_id })).status, 201)
  for (const [path, id] of [
    ['%', '%'],
    ['%25', '%'],
    ['%zz', '%zz'],
    ['a%2', 'a%2'],
    ['%25C3%25A9', '%C3%A9'],
    ['%ff', '\ufffd'],
    ['%C3%28', '\ufffd('],
    ['100%%C3%A9', '100%é'],
  ] as const)
    t.like((await get(`/listings/${path}`)).json().listing, { listing_id: id }, path)
  t.is((await get('/listings/%fe%ff')).status, 404)
  t.is((await get('/publishers/%zz')).status, 422)
  t.is((await get('/l%69stings')).status, 404, 'a path is matched as it was sent')
  t.is((await fetch(`${url}/listings/%zz`, { method: 'DELETE' })).status, 401)
  t.is((await remove('%zz')).status, 204)
  t.is(await listing('%zz'), null)
  t.is((await get('/listings?region=%zz&gpu_model=%ff')).status, 200, 'a query takes replacement characters')
})

test('request line: up to 64 KiB, and a longer one gets a problem with the limit', async (t) => {
  const { get } = await startRegistry(t)
  t.is((await get(`/listings/${'x'.repeat(60_000)}`)).status, 404)
  t.is((await get(`/listings?region=${'x'.repeat(60_000)}`)).status, 200)
  for (const length of [70_000, 1_000_000]) {
    const refused = await get(`/listings?region=${'x'.repeat(length)}`)
    t.is(refused.status, 431)
    t.is(refused.headers.get('content-type'), 'application/problem+json; charset=utf-8')
    t.is(refused.headers.get('access-control-allow-origin'), '*')
    t.like(refused.json(), { status: 431, title: 'Request Header Fields Too Large' })
    t.regex(refused.json().detail as string, /larger than 65536 bytes/)
  }
  t.is((await get('/health')).status, 200)
})

const repeated = (url: string, headers: string[]): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const all = ['Host', 'registry', ...headers]
    request({ hostname, port, path: '/listings', headers: all }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
      .on('error', reject)
      .end()
  })

test('headers: the first line of a repeated header counts', async (t) => {
  const { url, get } = await startRegistry(t, {
    environment: { REGISTRY_REQUIRE_READ_API_KEY: 'on', REGISTRY_BOOTSTRAP_API_KEY: 'secret' },
  })
  const [good, bad] = ['Bearer secret', 'Bearer nope']
  t.is(await repeated(url, ['Authorization', good!, 'Authorization', bad!]), 200)
  t.is(await repeated(url, ['Authorization', bad!, 'Authorization', good!]), 401)
  const etag = (await get('/filter-spec', { Authorization: good! })).json().etag as string
  const tags = (first: string, second: string): Promise<number> =>
    repeated(url, ['Authorization', good!, 'If-Match', first, 'If-Match', second])
  t.is(await tags(etag, '"0"'), 200)
  t.is(await tags('"0"', etag), 412)
})

test('query: the last value of a repeated parameter counts', async (t) => {
  const { url, get } = await startRegistry(t)
  await publish(url, ALICE, { listing_id: 'one', offer_resource: { region: 'Tokyo' } })
  t.is((await get('/listings?region=Oslo&region=Tokyo')).json().count, 1)
  t.is((await get('/listings?region=Tokyo&region=Oslo')).json().count, 0)
  t.is((await get('/listings?status=Nope&status=open')).json().count, 1)
  t.is((await get('/publishers?limit=0&limit=1')).json().count, 1)
})

const RAW: [name: string, text: string, status: RegExp][] = [
  ['no host', 'GET /health HTTP/1.1\r\n\r\n', /^HTTP\/1.1 400 /],
  ['an invalid URL', 'GET http://[ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', /^HTTP\/1.1 400 /],
  [
    'an absolute URL',
    'GET http://other/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    /^HTTP\/1.1 200 /,
  ],
  [
    'an unknown expectation',
    'GET /health HTTP/1.1\r\nHost: a\r\nExpect: nonsense\r\nConnection: close\r\n\r\n',
    /^HTTP\/1.1 200 .*\r\nX-Request-Id: /s,
  ],
  [
    'short headers beyond the number that Node reads',
    `GET /health HTTP/1.1\r\nHost: a\r\n${'a: b\r\n'.repeat(3000)}\r\n`,
    /^HTTP\/1.1 431 .*, or the headers are too many"/s,
  ],
  ['an asterisk', 'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', /^HTTP\/1.1 404 /],
  [
    'two lengths',
    'POST /listings HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
    /^HTTP\/1.1 400 /,
  ],
  [
    'a length and chunks',
    'POST /listings HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    /^HTTP\/1.1 400 /,
  ],
  ['no HTTP at all', '\x16\x03\x01 hello\r\n\r\n', /^HTTP\/1.1 400 /],
]

async function askRaw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(text)
  let answer = ''
  for await (const chunk of socket) answer += chunk
  return answer
}

test('raw requests: answered whatever they are, and the service continues', async (t) => {
  const { url, get } = await startRegistry(t)
  for (const [name, text, status] of RAW) {
    t.regex(await askRaw(url, text), status, name)
    t.is((await get('/health')).status, 200)
  }
  const { headers } = await get('/nowhere')
  for (const [text, own] of [
    ['no HTTP at all\r\n\r\n', /^(keep-alive|x-request-id|vary|date)$/],
    [RAW[1]![1], /^keep-alive$/],
  ] as const) {
    const [head = '', body = ''] = (await askRaw(url, text)).split('\r\n\r\n')
    for (const name of headers.keys())
      if (!own.test(name)) t.true(head.toLowerCase().includes(`\r\n${name}: `), `${name}\n${head}`)
    t.like(JSON.parse(body), { type: 'urn:entrepot:problem:bad_request', status: 400 })
  }
})

async function* slowly(chunk: Uint8Array, times: number): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < times; n++) {
    await new Promise(setImmediate)
    yield chunk
  }
}

test('body: one larger than the limit is refused before it is complete', async (t) => {
  const { url, get } = await startRegistry(t)
  const chunk = Buffer.alloc(64 * 1024, 0x20)
  const chunked = ReadableStream.from(slowly(chunk, 200))
  const reply = await fetch(`${url}/listings`, { method: 'POST', body: chunked, duplex: 'half' })
  t.is(reply.status, 413)
  await reply.body?.cancel()
  t.is((await postJson(`${url}/listings`, JSON.stringify('x'.repeat(2_000_000)))).status, 413)
  t.is((await get('/health')).status, 200)
})
