import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import test, { type ExecutionContext } from 'ava'
import { ANONYMOUS } from '../../src/domain/api-key.ts'
import { EntrepotError } from '../../src/errors.ts'
import { createApp } from '../../src/http/app.ts'
import { ResponseCache } from '../../src/http/response-cache.ts'
import type { Route } from '../../src/http/route.ts'
import { createLogger } from '../../src/log.ts'
import { listingTexts } from '../helpers/fake-registry.ts'
import { gatewayToml, startFake, startGateway, whenReady } from '../helpers/gateway.ts'
import { inject } from '../helpers/inject.ts'
import { manualClock } from '../helpers/manual-clock.ts'
import { startRegistry } from '../helpers/registry.ts'
import { temporaryFile } from '../helpers/run-cli.ts'
import { ALICE, mintKey, publish, unixNow } from '../helpers/seller.ts'

const GATED = { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_ADMIN_API_KEY: 'admin' }
const ADMIN = { Authorization: 'Bearer admin' }

test('response cache: same request, same bytes, until something changes', async (t) => {
  const { url, get } = await startRegistry(t)
  await publish(url, ALICE, { listing_id: 'one' })
  const first = await get('/listings?limit=5')
  const again = await get('/listings?limit=5')
  t.is(again.text, first.text)
  t.is(again.headers.get('content-type'), first.headers.get('content-type'))

  await publish(url, ALICE, { listing_id: 'two' })
  t.is((await get('/listings?limit=5')).json().count, 2, 'a write is read at once')
  await publish(
    url,
    ALICE,
    { listing_id: 'two', storefront_url: 'https://new.example/' },
    { timestamp: unixNow() + 5 },
  )
  t.true((await get('/listings?limit=5')).text.includes('https://new.example/'))
})

test('response cache: every request passes the gate first', async (t) => {
  const { url, get } = await startRegistry(t, { environment: GATED })
  const { id, bearer } = await mintKey(url)
  t.is((await get('/listings', bearer)).status, 200)
  t.is((await get('/listings', bearer)).status, 200)
  t.is((await get('/listings')).status, 401)
  await fetch(`${url}/admin/api-keys/${id}`, { method: 'DELETE', headers: ADMIN })
  t.is((await get('/listings', bearer)).status, 401)
})

test('response cache: conditional requests are evaluated', async (t) => {
  const { get } = await startRegistry(t)
  await get('/listings')
  t.is((await get('/listings', { 'If-Match': '"0"' })).status, 412)
})

/** Kept answers in front of an application that answers when the test lets it, with its count of requests. */
async function startHeld(t: ExecutionContext) {
  const hot = new ResponseCache()
  const asked: ServerResponse[] = []
  let version = 0
  const fallback: RequestListener = (request, response) => {
    asked.push(response)
    const made = version
    response.once('release', () => {
      const body = Buffer.from(String(made))
      hot.store(request, ANONYMOUS, { headers: {}, body, gzipped: null, isCurrent: () => version === made })
      response.end(body)
    })
  }
  const authorize = () => ANONYMOUS
  const listener = hot.listener({ authorize, rateLimit: () => null, counter: () => () => {} }, fallback)
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/listings`
  const ask = async (signal?: AbortSignal): Promise<string> =>
    (await fetch(url, { signal: signal ?? null })).text()
  const isAsked = async (times: number): Promise<void> => {
    while (asked.length < times) await once(server, 'request')
  }
  const arrived = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n++) await once(server, 'request')
  }
  const change = (): void => {
    version++
  }
  return { listener, ask, asked, isAsked, arrived, change }
}

test('response cache: concurrent requests for an outdated response share one refresh', async (t) => {
  const { listener, asked, change } = await startHeld(t)
  // Without connections: a request waits for a second at most.
  const ask = async () => (await inject(listener, '/listings')).body
  const first = ask()
  asked[0]!.emit('release')
  t.is(await first, '0')
  change()
  const answers = Array.from({ length: 8 }, ask)
  t.is(asked.length, 2)
  asked[1]!.emit('release')
  t.deepEqual(await Promise.all(answers), Array(8).fill('1'))
  t.is(asked.length, 2)
})

test('response cache: if the refreshing client leaves, a waiting request refreshes', async (t) => {
  const { ask, asked, isAsked, arrived, change } = await startHeld(t)
  const first = ask()
  await isAsked(1)
  asked[0]!.emit('release')
  await first
  change()
  const leaving = new AbortController()
  const left = ask(leaving.signal)
  await isAsked(2)
  const request = arrived(1)
  const waiting = ask()
  await request
  leaving.abort()
  await t.throwsAsync(left)
  while (asked.length < 3) await new Promise((resolve) => setImmediate(resolve))
  asked[2]!.emit('release')
  t.is(await waiting, '1')
})

test('response cache: a cached response has the id of its own request', async (t) => {
  const { get } = await startRegistry(t)
  const idOf = async (headers?: Record<string, string>) =>
    (await get('/listings', headers)).headers.get('x-request-id') ?? ''
  const ids = [await idOf(), await idOf(), await idOf()]
  for (const id of ids) t.regex(id, /^[\w.-]{8,64}$/)
  t.is(new Set(ids).size, 3)
  t.is(await idOf({ 'X-Request-Id': 'call-7.a_b' }), 'call-7.a_b')
  t.not(await idOf({ 'X-Request-Id': 'no <id>' }), 'no <id>')
})

test('response cache: same head as the first response, and Connection: close is respected', async (t) => {
  const { url } = await startRegistry(t)
  const { hostname, port } = new URL(url)
  const ask = (id: string, more = '', version = '1.1') =>
    `GET /listings HTTP/${version}\r\nHost: a\r\nX-Request-Id: ${id}\r\n${more}\r\n`
  const exchange = async (requests: string) => {
    const socket = connect(Number(port), hostname)
    socket.write(requests)
    let text = ''
    for await (const chunk of socket.setEncoding('latin1')) text += chunk
    return text.split(/(?=HTTP\/1\.1 200 OK)/).map((answer) => {
      const [head = '', body] = answer.split('\r\n\r\n')
      const lines = head
        .split('\r\n')
        .map((line) => line.replace(/^[\w-]+(?=: )/, (name) => name.toLowerCase()))
      const own = /^(x-request-id|date|connection|keep-alive): /
      const value = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const shared = lines.filter((line) => !own.test(line)).sort()
      return { shared, body, id: value('x-request-id'), date: value('date'), connection: value('connection') }
    })
  }
  const ids = ['6', 'a', '65', 'Date', 'timeout', '-']
  const answers = await exchange(ids.map((id) => ask(id)).join('') + ask('last', 'Connection: close\r\n'))
  const [first] = answers
  t.deepEqual(
    answers.map(({ id }) => id),
    [...ids, 'last'],
  )
  for (const { shared, body, date } of answers) {
    t.deepEqual(shared, first?.shared)
    t.is(body, first?.body)
    t.true(Math.abs(Date.parse(date ?? '') - Date.parse(first?.date ?? '')) < 60_000)
  }
  t.deepEqual(
    answers.map(({ connection }) => connection),
    [...ids.map(() => 'keep-alive'), 'close'],
  )
  const [old] = await exchange(ask('old', '', '1.0'))
  t.deepEqual([old?.shared, old?.id, old?.connection], [first?.shared, 'old', 'close'])
})

test('response cache: a request over its limit is counted once', async (t) => {
  const responseCache = new ResponseCache()
  let counted = 0
  const rateLimit = async () => {
    counted++
    if (counted > 2) throw new EntrepotError('rate_limited', 'Too many')
    return { RateLimit: '"all";r=1;t=1' }
  }
  const handle = () => ({ body: Buffer.from('{}'), isCurrent: () => true })
  const route: Route = { method: 'GET', path: '/listings', gate: 'read', summary: '', responses: {}, handle }
  const authorize = () => ANONYMOUS
  const app = createApp({ routes: [route], authorize, log: createLogger('silent'), responseCache, rateLimit })
  const listener = responseCache.listener({ authorize, rateLimit, counter: () => () => {} }, app.callback())
  const statuses = []
  for (let n = 0; n < 3; n++) statuses.push((await inject(listener, '/listings')).status)
  t.deepEqual(statuses, [200, 200, 429])
  t.is(counted, 3)
})

test('response cache: a client that leaves during a refresh keeps no configuration open', async (t) => {
  const clock = manualClock()
  const live = await startFake(t, { items: listingTexts('a', 3) })
  const pulled = await startFake(t, { items: listingTexts('b', 3) })
  const upstreams = [
    { name: 'a', url: live.url },
    { name: 'b', url: pulled.url, settings: 'mode = "snapshot"' },
  ]
  const more = '[cache]\nstale_while_revalidate_seconds = 0\n'
  const ours = readFileSync('config/filter-spec.yaml', 'utf8')
  const spec = temporaryFile(t, 'filter-spec.yaml', ours)
  const { url, get, reload } = await startRegistry(t, {
    toml: gatewayToml(upstreams, more),
    clock,
    environment: { METRICS_PUBLIC: 'true', REGISTRY_FILTER_SPEC_PATH: spec },
  })
  await whenReady({ get })
  for (let n = 0; n < 3; n++) await get('/listings')
  clock.advance(20_000)
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  live.script = [{ kind: 'hold', until: isReleased }, { kind: 'serve' }]
  const before = live.requests.length
  const renewing = get('/listings')
  await live.requested(before + 1)
  const leaving = new AbortController()
  const left = fetch(`${url}/listings`, { signal: leaving.signal })
  await get('/health')
  leaving.abort()
  await t.throwsAsync(left)
  await get('/health')
  release()
  t.is((await renewing).status, 200)
  const pending = clock.pending()
  writeFileSync(
    spec,
    `${ours}  - {name: f, path: $.offer_resource.f, op: in, value_type: string, on_missing: fail}\n`,
  )
  await reload('')
  // The pulls end at once. The new index polls its store, the old one until its configuration is closed.
  while (clock.pending() >= pending) await new Promise((resolve) => setImmediate(resolve))
  t.regex((await get('/metrics')).text, /_requests_total\{route="\/listings",method="GET",status="499"\} 1\n/)
})

const HALF_HOUR_MS = 1_800_000

test('response cache: a response with a cursor expires before the cursor', async (t) => {
  const clock = manualClock()
  const fake = await startFake(t)
  const { url, get } = await startGateway(t, [{ name: 'a', url: fake.url }], { clock })
  for (const id of ['one', 'two']) await publish(url, ALICE, { listing_id: id })
  const path = '/listings?sources=local&limit=1'
  const etags = []
  for (let n = 0; n < 4; n++) {
    const { json, headers } = await get(path)
    etags.push(headers.get('etag'))
    clock.advance(HALF_HOUR_MS)
    t.is((await get(`${path}&cursor=${json().next_cursor}`)).status, 200)
  }
  t.is(new Set(etags).size, 4)
})

test('ETag: with a cursor it lasts half an hour, and for the key that sealed it', async (t) => {
  const clock = manualClock()
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const upstreams = [{ name: 'a', url: fake.url }]
  const shared = { REGISTRY_ADMIN_API_KEY: 'admin' }
  const start = (environment: Record<string, string> = {}) =>
    startGateway(t, upstreams, { clock, environment })
  const [alone, other, one, replica] = [
    await start(),
    await start(),
    await start(shared),
    await start(shared),
  ]
  const etagOf = async ({ get }: typeof one) => (await get('/listings?limit=1')).headers.get('etag') ?? ''
  const statusFor = async ({ get }: typeof one, etag: string) =>
    (await get('/listings?limit=1', { 'If-None-Match': etag })).status
  t.is(await statusFor(other, await etagOf(alone)), 200)
  t.is(await statusFor(replica, await etagOf(one)), 304)
  const etag = await etagOf(one)
  t.is(await statusFor(one, etag), 304)
  clock.advance(HALF_HOUR_MS)
  t.is(await statusFor(one, etag), 200)
})
