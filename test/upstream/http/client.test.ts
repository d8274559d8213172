import type { LookupFunction } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import test from 'ava'
import type { SourceReason } from '../../../src/domain/source/source-reason.ts'
import { createAgent } from '../../../src/upstream/http/agent.ts'
import { createGet } from '../../../src/upstream/http/get.ts'
import { type Behaviour, deadUrl, listingTexts, startFakeRegistry } from '../../helpers/fake-registry.ts'
import { startFake } from '../../helpers/gateway.ts'
import { failureOf, openUpstream, textsOf, upstreamOptions } from '../../helpers/upstream.ts'

const BOMB = 50 * 1024 * 1024
const HTML = '<!doctype html><title>It works!</title>'

const FAULTS: readonly (readonly [what: string, behaviour: Behaviour, reason: SourceReason])[] = [
  ['no answer', { kind: 'hang' }, 'timeout'],
  ['half a body and silence', { kind: 'hang_mid_body' }, 'timeout'],
  ['a body a byte at a time', { kind: 'drip', everyMs: 20 }, 'timeout'],
  ['an answer after the timeout', { kind: 'delay', ms: 600 }, 'timeout'],
  ['a reset before the headers', { kind: 'reset_before_headers' }, 'connection_reset'],
  ['a reset within the body', { kind: 'reset_mid_body' }, 'connection_reset'],
  ['a close within the body', { kind: 'end_mid_body' }, 'connection_reset'],
  ['another protocol', { kind: 'babble' }, 'bad_envelope'],
  ['an encoding that was not asked for', { kind: 'serve', encoding: 'zebra' }, 'not_json'],
  ['HTML', { kind: 'body', body: HTML, headers: { 'content-type': 'text/html' } }, 'not_json'],
  ['text labelled gzip', { kind: 'body', body: HTML, headers: { 'content-encoding': 'gzip' } }, 'not_json'],
]

for (const [what, behaviour, reason] of FAULTS) {
  test(`${what}: ${reason}, no key in the error, and the next answer is read`, async (t) => {
    const key = 'a key of more than sixteen characters'
    const timeoutMs = reason === 'timeout' ? 300 : 10_000
    const items = listingTexts('a', 30)
    const { read, fake } = await openUpstream(t, { items, script: [behaviour] }, { key, timeoutMs })
    const error = await failureOf(t, read())
    t.is(error.reason, reason)
    t.false(JSON.stringify([error.message, error.stack, String(error.cause)]).includes(key))
    fake.script = [{ kind: 'serve' }]
    const { read: readAgain } = await openUpstream(t, {}, { fake, timeoutMs: 10_000 })
    t.deepEqual(textsOf(await (reason === 'timeout' ? readAgain() : read())), items)
  })
}

for (const [what, behaviour] of [
  ['a body of 50 MB', { kind: 'huge', bytes: BOMB }],
  ['a decompression bomb', { kind: 'gzip_bomb', bytes: BOMB }],
] as const)
  test(`${what} is too_large, and is not asked for often`, async (t) => {
    const { read, fake } = await openUpstream(t, { script: [behaviour] })
    t.is((await failureOf(t, read())).reason, 'too_large')
    t.true(fake.requests.length < 20, String(fake.requests.length))
  })

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
    createGet({ ...options, timeoutMs }, agent)('/listings', { maxBytes: 2 ** 20 })
  t.is((await failureOf(t, get(50))).reason, 'timeout')
  const next = get(10_000)
  resolved.resolve()
  t.is((await next).status, 200)
  t.is(fake.requests.length, 1)
})

for (const encoding of ['gzip', 'deflate', 'br'] as const)
  test(`an answer in ${encoding} is read`, async (t) => {
    const items = listingTexts('a', 3)
    const { read } = await openUpstream(t, { items, script: [{ kind: 'serve', encoding }] })
    t.deepEqual(textsOf(await read()), items)
  })

test('a port without a listener is connection_refused, an unknown name dns, a server without TLS tls', async (t) => {
  const fake = await startFake(t)
  for (const [url, reason] of [
    [deadUrl(), 'connection_refused'],
    ['http://no-such-host.invalid', 'dns'],
    [fake.url.replace('http:', 'https:'), 'tls'],
  ] as const) {
    const { read } = await openUpstream(t, {}, { fake, url })
    t.is((await failureOf(t, read())).reason, reason)
  }
})

test('a redirect is not followed, and the key goes to no other origin', async (t) => {
  const other = await startFake(t, { items: listingTexts('a', 1) })
  const headers = { location: `${other.url}/listings` }
  const script = [{ kind: 'status', status: 307, headers }] as const
  const { read } = await openUpstream(t, { script }, { key: 'secret' })
  t.is((await failureOf(t, read())).reason, 'http_307')
  t.is(other.connections(), 0)
})

test('a private address is refused unless allowed, in any spelling and behind any name', async (t) => {
  const fake = await startFakeRegistry({ items: listingTexts('a', 1) })
  t.teardown(fake.close)
  const { port } = new URL(fake.url)
  for (const host of ['127.0.0.1', 'localhost', '0x7f.1', '[::ffff:127.0.0.1]', '[::1]', '0.0.0.0']) {
    const url = `http://${host}:${port}`
    const { read } = await openUpstream(t, {}, { fake, url, allowPrivateAddresses: false })
    const error = await failureOf(t, read())
    t.is(error.reason, 'private_address', host)
    t.regex(error.message, /allow_private_addresses/, host)
  }
  t.is(fake.connections(), 0)
  const { read } = await openUpstream(t, {}, { fake, url: `http://localhost:${port}` })
  t.is((await read()).total, 1)
})

test('at most max_in_flight requests are open at once, over as many connections', async (t) => {
  const held = Promise.withResolvers<void>()
  const { read, fake } = await openUpstream(
    t,
    { items: listingTexts('a', 1), script: [{ kind: 'hold', until: held.promise }] },
    { maxInFlight: 2, timeoutMs: 60_000 },
  )
  const before = fake.connections()
  const answers = Array.from({ length: 6 }, (_, n) => read({ publisher: `0x${n}` }).catch(() => {}))
  await fake.requested(2)
  for (let turn = 0; turn < 20; turn++) await setImmediate()
  t.is(fake.requests.length, 2)
  held.resolve()
  await Promise.all(answers)
  t.is(fake.mostInFlight(), 2)
  t.true(fake.connections() - before <= 2)
})
