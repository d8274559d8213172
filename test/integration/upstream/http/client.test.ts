import { randomBytes } from 'node:crypto'
import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import test from 'ava'
import type { SourceReason } from '../../../../src/domain/source/reasons.ts'
import { createAgent } from '../../../../src/upstream/http/agent.ts'
import { NameResolver } from '../../../../src/upstream/http/lookup.ts'
import { createGet } from '../../../../src/upstream/http/request.ts'
import { composeRequests } from '../../../../src/upstream/interceptors/compose.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { type Behaviour, listingTexts } from '../../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../../helpers/gateway.ts'
import { listen } from '../../../helpers/listen.ts'
import { manualClock } from '../../../helpers/manual-clock.ts'
import { failureOf, openUpstream, textsOf, upstreamOptions } from '../../../helpers/upstream.ts'

const HTML = '<!doctype html><title>It works!</title>'

/** Those that the matrix of `e2e/fault-cases.ts` has not. */
const FAULTS: readonly (readonly [what: string, behaviour: Behaviour, reason: SourceReason])[] = [
  ['half a body and silence', { kind: 'hang_mid_body' }, 'timeout'],
  ['a close within the body', { kind: 'end_mid_body' }, 'connection_reset'],
  ['another protocol', { kind: 'babble' }, 'bad_envelope'],
  ['an encoding that was not asked for', { kind: 'serve', encoding: 'zebra' }, 'not_json'],
  ['text labelled gzip', { kind: 'body', body: HTML, headers: { 'content-encoding': 'gzip' } }, 'not_json'],
]

for (const [what, behaviour, reason] of FAULTS) {
  test(`${what}: ${reason}, no key in the error, and the next answer is read`, async (t) => {
    const key = 'a key of more than sixteen characters'
    const timeoutMs = reason === 'timeout' ? 300 : 10_000
    const items = listingTexts('a', 30)
    const { read, ready, fake } = await openUpstream(t, { items, script: [behaviour] }, { key, timeoutMs })
    await ready
    const error = await failureOf(t, read())
    t.is(error.reason, reason)
    t.false(JSON.stringify([error.message, error.stack, String(error.cause)]).includes(key))
    fake.script = [{ kind: 'serve' }]
    const again = await openUpstream(t, {}, { fake, timeoutMs: 10_000 })
    await again.ready
    t.deepEqual(textsOf(await again.read()), items)
  })
}

test('a request whose time is over before it has a connection is not sent', async (t) => {
  const fake = await startFake(t)
  const resolved = Promise.withResolvers<void>()
  const lookup: LookupFunction = (_host, _options, callback) =>
    void resolved.promise.then(() => callback(null, [{ address: '127.0.0.1', family: 4 }]))
  const url = `http://localhost:${new URL(fake.url).port}`
  const options = upstreamOptions({ url, connectTimeoutMs: 10_000, maxInFlight: 1 })
  const agent = createAgent(options, lookup)
  t.teardown(() => agent.destroy())
  const get = (timeoutMs: number) =>
    createGet({ ...options, timeoutMs }, composeRequests(agent))('/listings', { maxBytes: 2 ** 20 })
  t.is((await failureOf(t, get(50))).reason, 'timeout')
  const next = get(10_000)
  resolved.resolve()
  t.is((await next).status, 200)
  t.is(fake.requests.length, 1)
})

for (const encoding of ['gzip', 'deflate', 'br'] as const)
  test(`an answer in ${encoding} is read`, async (t) => {
    const items = listingTexts('a', 3)
    const { read, ready } = await openUpstream(t, { items, script: [{ kind: 'serve', encoding }] })
    await ready
    t.deepEqual(textsOf(await read()), items)
  })

test('an error is known by its status, however long its body is, and an empty body needs no decoding', async (t) => {
  const answers: [number, Buffer | undefined][] = [
    [503, gzipSync(randomBytes(2 ** 20))],
    [503, gzipSync(Buffer.alloc(2 ** 26))],
    [304, undefined],
  ]
  const url = await listen(t, (_request, response) => {
    const [status, body] = answers.shift()!
    response.writeHead(status, { 'content-encoding': 'gzip' }).end(body)
  })
  const options = upstreamOptions({ url })
  const agent = createAgent(options, systemLookup as LookupFunction)
  t.teardown(() => agent.destroy())
  const get = createGet(options, composeRequests(agent))
  for (const _ of [1, 2])
    t.is((await failureOf(t, get('/listings', { maxBytes: 2 ** 20 }))).reason, 'http_503')
  t.is((await get('/filter-spec', { maxBytes: 2 ** 20, expected: [304] })).status, 304)
})

test('a redirect is not followed, and the key goes to no other origin', async (t) => {
  const other = await startFake(t, { items: listingTexts('a', 1) })
  const headers = { location: `${other.url}/listings` }
  const script = [{ kind: 'status', status: 307, headers }] as const
  const { read, ready } = await openUpstream(t, { script }, { key: 'secret' })
  await ready
  t.is((await failureOf(t, read())).reason, 'http_307')
  t.is(other.connections(), 0)
})

test('a private address is refused unless allowed, in any spelling and behind any name', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 1) })
  const { port } = new URL(fake.url)
  for (const host of ['127.0.0.1', 'localhost', '0x7f.1', '[::ffff:127.0.0.1]', '[::1]', '0.0.0.0']) {
    const url = `http://${host}:${port}`
    const { read, ready } = await openUpstream(t, {}, { fake, url, allowPrivateAddresses: false })
    await ready
    const error = await failureOf(t, read())
    t.is(error.reason, 'private_address', host)
    t.regex(error.message, /allow_private_addresses/, host)
  }
  t.is(fake.connections(), 0)
  const { read, ready } = await openUpstream(t, {}, { fake, url: `http://localhost:${port}` })
  await ready
  t.is((await read()).total, 1)
})

test('at most half of max_in_flight requests are for single listings, of which 64 may wait, over as many connections', async (t) => {
  const held = Promise.withResolvers<void>()
  const { read, ready, fake } = await openUpstream(
    t,
    { items: listingTexts('a', 1), listingScript: { kind: 'hold', until: held.promise } },
    { maxInFlight: 4, timeoutMs: 60_000 },
  )
  await ready
  const before = fake.connections()
  const asked = () => fake.requests.filter(({ path }) => path.startsWith('/listings/')).length
  const answers = Array.from({ length: 64 }, (_, n) => read({ listingId: `b-${n}` }).catch(() => {}))
  await eventually('two are asked', asked, (count) => count === 2)
  for (let turn = 0; turn < 20; turn++) await setImmediate()
  t.is(asked(), 2)
  t.is((await failureOf(t, read({ listingId: 'one more' }))).reason, 'budget_spent')
  held.resolve()
  await Promise.all(answers)
  t.is(fake.mostInFlight(), 2)
  // One more is for a stream of changes.
  t.true(fake.connections() - before <= 5)
})

type Answer = (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void

/** A resolver over a system that answers when the test does. */
function start() {
  const clock = manualClock()
  const running = new Map<string, Answer>()
  const asked: string[] = []
  const system = ((hostname: string, _options: object, answer: Answer) => {
    asked.push(hostname)
    running.set(hostname, answer)
  }) as LookupFunction
  const { lookup } = new NameResolver(clock, system)
  const resolve = (hostname: string, family = 0): Promise<string> =>
    new Promise((resolve) => {
      lookup(hostname, { family, all: true }, (error, found) =>
        resolve(error?.code ?? (found as LookupAddress[]).map(({ address }) => address).join(' ')),
      )
    })
  const answer = (hostname: string, result: string[] | string): void => {
    const reply = running.get(hostname)
    running.delete(hostname)
    if (typeof result === 'string') reply?.(Object.assign(new Error(result), { code: result }), [])
    else
      reply?.(
        null,
        result.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
  }
  return { clock, running, asked, resolve, answer }
}

test('connections to one name share a lookup, and its result for ten seconds', async (t) => {
  const { clock, asked, resolve, answer } = start()
  const results = [resolve('a.test'), resolve('a.test'), resolve('a.test', 6)]
  answer('a.test', ['192.0.2.1', '2001:db8::1'])
  t.deepEqual(await Promise.all(results), ['192.0.2.1 2001:db8::1', '192.0.2.1 2001:db8::1', '2001:db8::1'])
  clock.advance(9_999)
  t.is(await resolve('a.test', 4), '192.0.2.1')
  t.is(asked.length, 1)
  clock.advance(1)
  const next = resolve('a.test')
  answer('a.test', ['192.0.2.2'])
  t.is(await next, '192.0.2.2')
})

test('the last addresses stay in use while the name server is silent or fails', async (t) => {
  const { clock, resolve, answer } = start()
  const first = resolve('a.test')
  answer('a.test', ['192.0.2.1'])
  await first
  clock.advance(60_000)
  const impatient = resolve('a.test')
  clock.advance(200)
  t.is(await impatient, '192.0.2.1')
  answer('a.test', 'EAI_AGAIN')
  const again = resolve('a.test')
  answer('a.test', 'EAI_AGAIN')
  t.is(await again, '192.0.2.1')
  for (let n = 0; n < 2; n++) {
    const gone = resolve('a.test')
    answer('a.test', 'ENOTFOUND')
    t.is(await gone, 'ENOTFOUND', 'and is looked up again each time')
  }
})

test('hung names are looked up one at a time, and no other name waits', async (t) => {
  const { clock, running, resolve, answer } = start()
  const silent = ['x.test', 'y.test', 'z.test']
  const first = silent.map((name) => resolve(name))
  clock.advance(1000)
  for (const name of silent) answer(name, 'EAI_AGAIN')
  t.deepEqual(await Promise.all(first), ['EAI_AGAIN', 'EAI_AGAIN', 'EAI_AGAIN'])

  const later = silent.map((name) => resolve(name))
  const good = resolve('good.test')
  t.deepEqual([...running.keys()], ['x.test', 'good.test'])
  answer('good.test', ['192.0.2.1'])
  t.is(await good, '192.0.2.1')
  for (const name of silent) {
    t.deepEqual([...running.keys()], [name])
    answer(name, ['192.0.2.9'])
  }
  t.deepEqual(await Promise.all(later), ['192.0.2.9', '192.0.2.9', '192.0.2.9'])
})

test('an upstream whose name server is silent takes no other upstream with it', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const { port } = new URL(fake.url)
  const asked: string[] = []
  const lookup = ((hostname: string, _options: object, answer: Answer) => {
    asked.push(hostname)
    if (hostname === 'good.test') answer(null, [{ address: '127.0.0.1', family: 4 }])
  }) as LookupFunction
  const settings = 'connect_timeout_ms = 200\ntimeout_ms = 300'
  const { get } = await startGateway(
    t,
    [
      { name: 'bad', url: `http://bad.test:${port}`, settings },
      { name: 'good', url: `http://good.test:${port}`, settings: 'timeout_ms = 10000' },
    ],
    { lookup },
  )
  for (let round = 0; round < 3; round++) {
    const { sources } = (await get('/listings', { 'Cache-Control': 'no-cache' })).json() as Reply
    t.deepEqual(
      sources.map(({ registry, state }) => [registry, state]),
      [
        ['local', 'loaded'],
        ['bad', 'unavailable'],
        ['good', 'loaded'],
      ],
    )
  }
  t.is(asked.filter((name) => name === 'bad.test').length, 1, 'a silent name has one lookup at a time')
})

type Reply = { sources: { registry: string; state: string }[] }
