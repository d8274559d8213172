import { once } from 'node:events'
import { connect } from 'node:net'
import test, { type ExecutionContext } from 'ava'
import { createLogger } from '../../../../src/log.ts'
import { deadUrl } from '../../../helpers/fake-registry.ts'
import { gatewayToml } from '../../../helpers/gateway.ts'
import { manualClock } from '../../../helpers/manual-clock.ts'
import { startRegistry } from '../../../helpers/registry.ts'
import { ALICE, mintKey, publish } from '../../../helpers/seller.ts'
import { ed25519Key } from '../../../helpers/signed-line.ts'
import { authorityEnvironment, readSigned } from '../../../helpers/signed-reader.ts'

type Line = { level: number; msg: string; reason?: string; detail?: string } & Record<string, unknown>

const [INFO, WARN, ERROR] = [30, 40, 50]

async function start(t: ExecutionContext, options: Parameters<typeof startRegistry>[1] = {}) {
  const lines: Line[] = []
  const log = createLogger('info', { write: (line) => lines.push(JSON.parse(line)) })
  const service = await startRegistry(t, { log, ...options })
  return {
    ...service,
    lines,
    refusals: () => lines.filter(({ upstream, reason }) => upstream === undefined && reason !== undefined),
  }
}

test('request log: every refusal is a line with its reason, and no secret or query', async (t) => {
  const { get, lines, refusals } = await start(t, {
    environment: { REGISTRY_REQUIRE_WRITE_API_KEY: 'true', REGISTRY_ADMIN_API_KEY: 'a'.repeat(64) },
    toml: gatewayToml([{ name: 'dead', url: deadUrl() }], '[registry]\nenabled = false\n'),
  })
  const secret = 'b'.repeat(43)
  await get('/listings')
  await get(`/listings?gpu_model=private-wish&limit=${secret}`)
  await get('/listings?gpu_count_min=private-wish')
  await get(`/listings?status=${secret}`)
  await get('/admin/api-keys', { Authorization: `Bearer ${secret}` })
  await get(`/${'x'.repeat(5000)}`)
  t.deepEqual(
    refusals().map(({ level, method, status, reason, detail }) => [level, method, status, reason, detail]),
    [
      [WARN, 'GET', 503, 'unavailable', 'No Registry could answer: see sources'],
      [
        INFO,
        'GET',
        422,
        'invalid',
        'query.limit: Input should be a valid integer, unable to parse string as an integer',
      ],
      [INFO, 'GET', 400, 'bad_request', 'gpu_count_min: expected integer, got …'],
      [INFO, 'GET', 400, 'bad_request', 'Invalid status: …'],
      [INFO, 'GET', 401, 'unauthorized', 'Invalid admin token'],
      [INFO, 'GET', 404, 'not_found', 'Not Found'],
    ],
  )
  t.is(String(refusals().at(-1)?.path).length, 500)
  t.false(/private-wish|bbbb/.test(JSON.stringify(lines)))
  t.is((await get('/live')).status, 200)
  t.is(refusals().length, 6, 'answers of 2xx have no reason')
})

test('request log: a fault is an error with its stack, and the answer has none of it', async (t) => {
  const { url, refusals } = await start(t, {
    nowSeconds: () => {
      throw new Error('a broken part')
    },
  })
  const answer = await publish(url, ALICE, { listing_id: 'one' })
  t.is(answer.status, 500)
  t.false(answer.text.includes('broken'))
  const [line] = refusals()
  t.like(line, { level: ERROR, path: '/listings', status: 500, reason: 'internal' })
  t.regex(JSON.stringify(line?.err), /a broken part.*request-log\.test\.ts/)
})

test('request log: what is not HTTP, or for a proxy, is refused with a line', async (t) => {
  const { url, refusals } = await start(t)
  const inputs = [
    'nonsense\r\n\r\n',
    `GET / HTTP/1.1\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`,
    'GET http://user:secret@seller.example/x HTTP/1.0\r\n\r\n',
  ]
  for (const input of inputs) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.end(input).resume()
    await once(socket, 'close')
  }
  t.deepEqual(
    refusals().map(({ status, reason, detail }) => [status, reason, detail]),
    [
      [400, 'bad_request', 'The request is not valid HTTP'],
      [
        431,
        'headers_too_large',
        'The request line and headers are larger than 65536 bytes, or the headers are too many',
      ],
      [404, 'not_found', 'Not Found'],
    ],
  )
  t.is(refusals().at(-1)?.path, 'http://…@seller.example/x')
})

test('request log: a reason has 60 lines a minute, and one line counts the rest', async (t) => {
  const clock = manualClock()
  const { get, lines, refusals } = await start(t, { clock })
  for (let n = 0; n < 65; n++) await get(`/nowhere-${n}`)
  await get('/listings?limit=0')
  t.is(refusals().filter(({ reason }) => reason === 'not_found').length, 60)
  t.is(refusals().at(-1)?.reason, 'invalid', 'another reason has its own lines')
  clock.advance(60_000)
  t.like(lines.at(-1), { level: INFO, reason: 'not_found', count: 5, msg: 'request lines left out' })
  await get('/nowhere')
  t.like(lines.at(-1), { path: '/nowhere', reason: 'not_found' })
})

test('request log: lines say who: the key, the wallet that has signed, and a hash of the address', async (t) => {
  const environment = { REGISTRY_REQUIRE_WRITE_API_KEY: 'true', REGISTRY_ADMIN_API_KEY: 'admin' }
  const toml = '[limits]\nanonymous_per_minute = 1\npublish_per_minute = 2\n'
  const { get, url, lines, refusals } = await start(t, { environment, toml })
  const { id, key, bearer } = await mintKey(url, { name: 'acme', scope: 'write' })
  t.like(lines.at(-1), { path: '/admin/api-keys', status: 201, minted: { id, name: 'acme', scope: 'write' } })
  const wallet = ALICE.address.toLowerCase()
  await publish(url, ALICE, { listing_id: 'one' }, { headers: bearer })
  t.like(lines.at(-1), { path: '/listings', status: 201, key_id: id, wallet })
  await publish(url, ALICE, { listing_id: 'two', status: 'opne' }, { headers: bearer })
  t.like(lines.at(-1), { status: 400, key_id: id, wallet }, 'a refusal after the signature')
  await publish(url, ALICE, { listing_id: 'three' }, { headers: bearer })
  t.like(lines.at(-1), { status: 429, key_id: id, limit: 'publish' })
  await get('/listings?limit=1')
  await get('/listings?limit=2')
  const limited = refusals().at(-1)
  t.like(limited, { status: 429, limit: 'anonymous', key_id: undefined })
  t.regex(String(limited?.client), /^[0-9a-f]{12}$/)
  t.is(new Set(lines.filter(({ msg }) => msg === 'request').map(({ client }) => client)).size, 1)
  for (const secret of [key, '127.0.0.1'])
    t.false(JSON.stringify(lines.filter(({ msg }) => msg === 'request')).includes(secret))
})

test('request log: with LOG_CLIENTS=true lines have the address that limits count by', async (t) => {
  const toml = '[limits]\ntrusted_proxies = ["127.0.0.1/32"]\n'
  const { get, refusals } = await start(t, { environment: { LOG_CLIENTS: 'true' }, toml })
  await get('/nowhere', { 'X-Forwarded-For': '2001:db8::1' })
  t.is(refusals().at(-1)?.client, '2001:db8:0:0::/64')
})

test('request log: a line of the signed line has its principal, and its client as any other', async (t) => {
  const { url, get, refusals } = await start(t, { environment: authorityEnvironment(t) })
  const key = ed25519Key(Buffer.alloc(32, 9))
  t.is((await readSigned(url, '/listings?colour=red', { key })).status, 400)
  await get('/listings?colour=red')
  const [signed, plain] = refusals()
  t.like(signed, { status: 400, principal: `ed25519:${key.party.identifier}` })
  t.is(plain?.principal, undefined)
  t.is(typeof plain?.client, 'string')
  t.is(signed?.client, plain?.client)
})
