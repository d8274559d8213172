import { readFileSync, writeFileSync } from 'node:fs'
import test, { type ExecutionContext } from 'ava'
import type { Publisher } from '../../../src/domain/publisher.ts'
import { SEES_ALL } from '../../../src/domain/reader.ts'
import { EntrepotError } from '../../../src/errors.ts'
import type { HandlerResponse, Route } from '../../../src/http/route.ts'
import { openSigner } from '../../../src/signing/proof.ts'
import { eventually } from '../../helpers/eventually.ts'
import { listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { gatewayToml, patientToml, startFake, startGateway } from '../../helpers/gateway.ts'
import { listen } from '../../helpers/listen.ts'
import { manualClock } from '../../helpers/manual-clock.ts'
import { oneRouteApp } from '../../helpers/one-route-app.ts'
import { ADMIN, send, startRegistry } from '../../helpers/registry.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'
import { ALICE, mintKey, publish, unixNow, update } from '../../helpers/seller.ts'
import { ed25519Key } from '../../helpers/signed-line.ts'
import { AUTHORITY_SEED, readSigned } from '../../helpers/signed-reader.ts'

const GATED = { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_ADMIN_API_KEY: 'admin' }
const STOREFRONT = 'http://storefront.example/'

/** The URL of one route with this handler. */
const serve = async (t: ExecutionContext, options: Omit<Parameters<typeof oneRouteApp>[0], 'path'>) =>
  `${await listen(t, oneRouteApp({ path: '/listings', ...options }).callback())}/listings`

test('response cache: same request, same bytes, until something changes', async (t) => {
  const { url, get } = await startRegistry(t)
  await publish(url, ALICE, { listing_id: 'one' })
  const first = await get('/listings?limit=5')
  const again = await get('/listings?limit=5')
  t.is(again.text, first.text)
  t.is(again.headers.get('content-type'), first.headers.get('content-type'))
  const one = await get('/listings/one')
  t.is((await get('/listings/one')).text, one.text)

  await publish(url, ALICE, { listing_id: 'two' })
  t.is((await get('/listings?limit=5')).json().count, 2, 'a write is read at once')
  await publish(
    url,
    ALICE,
    { listing_id: 'two', storefront_url: 'https://new.example/' },
    { timestamp: unixNow() + 5 },
  )
  t.true((await get('/listings?limit=5')).text.includes('https://new.example/'))
  await update(url, 'one', { status: 'closed' })
  t.like((await get('/listings/one')).json().listing as object, { status: 'closed' })
})

test('response cache: the answer for an id is made again when a worse copy in memory has gone', async (t) => {
  const copy = { listing_id: 'own', publisher_id: 7, storefront_url: STOREFRONT }
  const fake = await startFake(t, {
    items: [listingText(copy)],
    publishers: [[7, ALICE.address.toLowerCase(), STOREFRONT]],
  })
  const { url, get } = await startRegistry(t, {
    toml: gatewayToml([{ name: 'up', url: fake.url }]),
    environment: { REGISTRY_ADMIN_API_KEY: 'admin' },
    // It stands still, so that no answer ends by its age.
    clock: manualClock(),
  })
  await publish(url, ALICE, { listing_id: 'own', storefront_url: STOREFRONT })
  const isCopied = async () => (await get('/listings/own')).text.includes('"also_in":["up"]')
  await eventually('the copy is found', isCopied)
  t.true(await isCopied())
  fake.items = []
  await fetch(`${url}/admin/sources/up/refresh`, { method: 'POST', headers: ADMIN })
  await eventually('the copy is gone', async () => !(await isCopied()))
})

test('response cache: a signed answer ends with the publishers in it, and the plain line has its own', async (t) => {
  const publisher: Publisher = {
    publisherId: 1,
    scheme: 'eip191',
    identifier: ALICE.address.toLowerCase(),
    storefrontUrl: null,
    createdAt: 0,
    updatedAt: 0,
    rotations: [],
  }
  const next = { scheme: 'ed25519', identifier: ed25519Key(Buffer.alloc(32, 31)).party.identifier }
  const rotation = { nonce: 'n', current: publisher, replacement: next, overlapSeconds: 100 }
  const market = { handled: 0, publisher, now: unixNow() }
  const page = { items: [{ listing_id: 'one', publisher_id: 1 }], count: 1, total_after_filter: 1 }
  const handle = () => {
    market.handled++
    return { body: Buffer.from(JSON.stringify(page)), isCurrent: () => true }
  }
  const signedLine = {
    signer: openSigner({ scheme: 'ed25519', key: AUTHORITY_SEED })!,
    localName: 'local',
    publisherWith: () => market.publisher,
    nowSeconds: () => market.now,
    writes: null,
    isPlainOpen: true,
    limitUnverified: () => null,
  }
  const url = new URL(await serve(t, { handle, signedLine })).origin
  /** How often the handler is called for two requests, and what they are answered. */
  const askTwice = async () => {
    const before = market.handled
    const changes = { timestamp: String(market.now) }
    await readSigned(url, '/listings', changes)
    const { body, isSigned } = await readSigned(url, '/listings', changes)
    t.true(isSigned)
    const { identities } = body.items[0]!.publisher_principals as { identities: { scheme: string }[] }
    return [market.handled - before, identities.map(({ scheme }) => scheme)]
  }
  t.deepEqual(await askTwice(), [1, ['eip191']])
  t.false((await (await fetch(`${url}/listings`)).text()).includes('publisher_principals'))
  const applied = { ...rotation, expiresAt: market.now, appliedAt: market.now * 1_000_000, retiredAt: null }
  market.publisher = { ...publisher, ...next, rotations: [applied] }
  t.deepEqual(await askTwice(), [2, ['ed25519', 'eip191']], 'not kept while two keys are good')
  market.now += 100
  t.deepEqual(await askTwice(), [1, ['ed25519']])
})

test('response cache: readers who see different things share no answer', async (t) => {
  let digest = 'one'
  const handle: Route['handle'] = ({ reader }) => ({
    body: Buffer.from(reader.digest),
    isCurrent: () => true,
  })
  const readerOf = () => ({ ...SEES_ALL, digest })
  const url = await serve(t, { handle, readerOf })
  for (digest of ['one', 'two', 'one', 'two']) t.is((await send(url)).text, digest)
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

test('response cache: without room, requests that come once displace nothing', async (t) => {
  const body = Buffer.alloc(250_000, ' ')
  let handled = 0
  const handle = () => {
    handled++
    return { body, isCurrent: () => true }
  }
  const url = await serve(t, { handle })
  const handledFor = async (name: string) => {
    const before = handled
    await send(`${url}?name=${name}`, { headers: { 'Accept-Encoding': 'identity' } })
    return handled - before
  }
  t.is(await handledFor('first'), 1)
  for (let n = 0; n < 200; n++) t.is(await handledFor(`once-${n}`), 1)
  t.is(await handledFor('first'), 0, 'it is still kept')
  t.is(await handledFor('once-199'), 1, 'it had no room')
  t.is(await handledFor('once-199'), 0, 'it came again, and was kept')
})

/** An application whose handler answers when the test lets it. */
function holdAnswers() {
  const asked: { release: () => void }[] = []
  let version = 0
  const handle: Route['handle'] = ({ signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<HandlerResponse>()
    const made = version
    const release = () => resolve({ body: Buffer.from(String(made)), isCurrent: () => version === made })
    signal.addEventListener('abort', () => reject(signal.reason))
    asked.push({ release })
    return promise
  }
  const change = (): void => {
    version++
  }
  const isAsked = (times: number) => eventually(`asked ${times} times`, () => asked.length === times)
  return { listener: oneRouteApp({ path: '/listings', handle }).callback(), asked, isAsked, change }
}

test('response cache: concurrent requests for an outdated answer share one refresh', async (t) => {
  const { listener, asked, isAsked, change } = holdAnswers()
  const url = await listen(t, listener)
  const ask = async () => (await send(`${url}/listings`)).text
  const first = ask()
  await isAsked(1)
  asked[0]!.release()
  t.is(await first, '0')
  change()
  const answers = Array.from({ length: 8 }, ask)
  await isAsked(2)
  asked[1]!.release()
  t.deepEqual(await Promise.all(answers), Array(8).fill('1'))
  t.is(asked.length, 2)
})

test('response cache: if the refreshing client leaves, a waiting request refreshes', async (t) => {
  const { listener, asked, isAsked, change } = holdAnswers()
  let arrived = 0
  const url = await listen(t, (request, response) => {
    arrived++
    listener(request, response)
  })
  const ask = async (signal: AbortSignal | null = null): Promise<string> =>
    (await fetch(`${url}/listings`, { signal })).text()
  const first = ask()
  await isAsked(1)
  asked[0]!.release()
  await first
  change()
  const leaving = new AbortController()
  const left = ask(leaving.signal)
  await isAsked(2)
  const waiting = ask()
  await eventually('arrived', () => arrived === 3)
  leaving.abort()
  await t.throwsAsync(left)
  await isAsked(3)
  asked[2]!.release()
  t.is(await waiting, '1')
})

test('response cache: a header that could select another answer is never answered from them', async (t) => {
  let calls = 0
  const handle = () => ({ body: Buffer.from(String(++calls)), isCurrent: () => true })
  const url = await serve(t, { handle })
  const ask = async (headers: Record<string, string> = {}) => (await send(url, { headers })).text
  t.is(await ask(), '1')
  for (const accept of ['*/*', 'application/json', 'application/*;q=0.5, */*;q=0.1'])
    t.is(await ask({ Accept: accept }), '1', accept)
  const selective = [
    { Accept: 'application/x-ndjson' },
    { Accept: 'text/event-stream, application/json' },
    { 'Cache-Control': 'no-cache' },
    { Pragma: 'no-cache' },
    { 'CDN-Loop': 'other' },
    { 'If-Match': '"0"' },
  ]
  for (const [n, headers] of selective.entries()) t.is(await ask(headers), String(n + 2))
  t.is(await ask(), '1', 'nor kept')
})

test('response cache: an answer that is given again has the id of its own request', async (t) => {
  const { get } = await startRegistry(t)
  const idOf = async (headers?: Record<string, string>) =>
    (await get('/listings', headers)).headers.get('x-request-id') ?? ''
  const ids = [await idOf(), await idOf(), await idOf()]
  for (const id of ids) t.regex(id, /^[\w.-]{8,64}$/)
  t.is(new Set(ids).size, 3)
  t.is(await idOf({ 'X-Request-Id': 'call-7.a_b' }), 'call-7.a_b')
  t.not(await idOf({ 'X-Request-Id': 'no <id>' }), 'no <id>')
})

test('response cache: a request over its limit is counted once', async (t) => {
  let counted = 0
  const rateLimit = async () => {
    counted++
    if (counted > 2) throw new EntrepotError('rate_limited', 'Too many')
    return { RateLimit: '"all";r=1;t=1' }
  }
  const handle = () => ({ body: Buffer.from('{}'), isCurrent: () => true })
  const url = await serve(t, { handle, rateLimit })
  const statuses = []
  for (let n = 0; n < 3; n++) statuses.push((await send(url)).status)
  t.deepEqual(statuses, [200, 200, 429])
  t.is(counted, 3)
})

test('response cache: a client that leaves during a refresh keeps no configuration open', async (t) => {
  const clock = manualClock()
  const live = await startFake(t, { items: listingTexts('a', 3) })
  const pulled = await startFake(t, { items: listingTexts('b', 3) })
  const upstreams = [
    { name: 'a', url: live.url },
    { name: 'b', url: pulled.url },
  ]
  const ours = readFileSync('config/filter-spec.yaml', 'utf8')
  const spec = temporaryFile(t, 'filter-spec.yaml', ours)
  const { url, get, reload } = await startRegistry(t, {
    toml: patientToml(upstreams),
    clock,
    environment: { METRICS_PUBLIC: 'true', REGISTRY_FILTER_SPEC_PATH: spec },
  })
  for (let n = 0; n < 3; n++) await get('/listings')
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  live.script = [{ kind: 'hold', until: isReleased }, { kind: 'serve' }]
  const before = live.requests.length
  clock.advance(20_000)
  const headers = { 'Cache-Control': 'no-cache' }
  const renewing = get('/listings', headers)
  await live.requested(before + 1)
  const leaving = new AbortController()
  const left = fetch(`${url}/listings`, { headers, signal: leaving.signal })
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
  await eventually(`fewer timers than ${pending}`, clock.pending, (count) => count < pending)
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
