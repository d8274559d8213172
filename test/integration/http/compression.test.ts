import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import test from 'ava'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { ALICE, postJson, publish } from '../../helpers/seller.ts'

type Answer = { status: number; headers: IncomingHttpHeaders; bytes: Buffer }

/** Without the decompression of `fetch`. */
async function ask(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  const sent = request(url, { headers, method, agent: false }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: answer.statusCode!, headers: answer.headers, bytes: await buffer(answer) }
}

const textOf = ({ headers, bytes }: Answer): string =>
  String(headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes)

const GZIP = { 'Accept-Encoding': 'gzip, deflate, br, zstd' }

/** Per `Accept-Encoding`, the coding of a long body and that of a short one. */
const CODINGS: readonly [accepted: string, long: 'gzip' | undefined, short: 'gzip' | undefined][] = [
  ['gzip', 'gzip', undefined],
  ['GZIP ; Q=0.1', 'gzip', undefined],
  ['x-gzip', 'gzip', undefined],
  ['*', 'gzip', undefined],
  ['br, *;q=0.1', 'gzip', undefined],
  ['gzip, identity;q=0', 'gzip', 'gzip'],
  ['gzip, *;q=0', 'gzip', 'gzip'],
  ['identity;q=0', undefined, undefined],
  ['identity, gzip;q=0.5', undefined, undefined],
  ['gzip;q=0', undefined, undefined],
  ['gzip;q=0.000, *', undefined, undefined],
  ['gzip;q=nonsense', undefined, undefined],
  ['gzip;q=-1', undefined, undefined],
  ['br, zstd', undefined, undefined],
  ['', undefined, undefined],
  [',;=,"', undefined, undefined],
  [`${'gzip,'.repeat(300)}gzip`, undefined, undefined],
]

test('compression: Accept-Encoding decides, with its qualities, for long and short bodies', async (t) => {
  const { url } = await startRegistry(t)
  const plain = await ask(`${url}/openapi.json`)
  t.is(plain.headers['content-encoding'], undefined)
  for (const [accepted, long, short] of CODINGS) {
    const answer = await ask(`${url}/openapi.json`, { 'Accept-Encoding': accepted })
    t.is(answer.headers['content-encoding'], long, accepted.slice(0, 40))
    t.is(Number(answer.headers['content-length']), answer.bytes.length)
    t.is(answer.headers.vary, 'Accept-Encoding')
    t.is(textOf(answer), textOf(plain))
    const live = await ask(`${url}/live`, { 'Accept-Encoding': accepted })
    t.is(live.headers['content-encoding'], short, accepted.slice(0, 40))
    t.is(textOf(live), '{"status":"live"}')
  }
})

test('compression: a weak etag is of both codings, and gives 304 for either', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 30) })
  const { url } = await startGateway(t, [{ name: 'a', url: fake.url }])
  for (const path of ['/listings', '/docs']) {
    await ask(url + path)
    const plain = await ask(url + path)
    const gzipped = await ask(url + path, GZIP)
    t.is(gzipped.headers['content-encoding'], 'gzip')
    t.regex(plain.headers.etag ?? '', /^W\/"/)
    t.is(gzipped.headers.etag, plain.headers.etag)
    for (const coding of [{}, GZIP]) {
      const known = await ask(url + path, { ...coding, 'If-None-Match': plain.headers.etag! })
      t.is(known.status, 304)
      t.is(known.headers.etag, plain.headers.etag)
      t.is(known.headers.vary, plain.headers.vary)
      t.is(known.headers['content-encoding'], undefined)
    }
  }
})

test('compression: a body with a strong etag is sent as it is', async (t) => {
  const { url } = await startRegistry(t)
  const plain = await ask(`${url}/filter-spec`)
  const asked = await ask(`${url}/filter-spec`, GZIP)
  t.regex(plain.headers.etag ?? '', /^"\w+"$/)
  t.deepEqual([asked.headers.etag, asked.headers['content-encoding']], [plain.headers.etag, undefined])
  t.deepEqual(asked.bytes, plain.bytes)
})

test('compression: HEAD has the headers of GET, in both codings', async (t) => {
  const { url } = await startRegistry(t)
  for (let n = 0; n < 12; n++) await publish(url, ALICE, { listing_id: `a${n}` })
  const own = /^(date|x-request-id)$/
  for (const headers of [{}, GZIP])
    for (const path of ['/listings', '/docs', '/']) {
      const asked = { ...headers, ...(path === '/' && { Accept: 'text/html' }) }
      const [got, head] = [await ask(url + path, asked), await ask(url + path, asked, 'HEAD')]
      const lasting = (answer: Answer) =>
        Object.entries(answer.headers)
          .filter(([name]) => !own.test(name))
          .sort()
      t.deepEqual(lasting(head), lasting(got), path)
      t.is(got.headers['content-encoding'], headers === GZIP ? 'gzip' : undefined, path)
      t.is(head.bytes.length, 0)
    }
  const fake = await startFake(t, { items: listingTexts('a', 3) })
  const gateway = await startGateway(t, [{ name: 'a', url: fake.url }])
  const stream = await ask(`${gateway.url}/listings`, { ...GZIP, Accept: 'application/x-ndjson' }, 'HEAD')
  t.deepEqual([stream.status, stream.headers['content-encoding']], [200, 'gzip'])
})

test('compression: a kept answer has both forms, whichever was asked for first', async (t) => {
  const { url } = await startRegistry(t)
  for (let n = 0; n < 12; n++) await publish(url, ALICE, { listing_id: `a${n}` })
  const orders = [
    [{}, GZIP, GZIP, {}],
    [GZIP, {}, GZIP, {}],
  ]
  for (const [n, order] of orders.entries()) {
    const answers = []
    for (const headers of order) answers.push(await ask(`${url}/listings?limit=${50 + n}`, headers))
    const [first] = answers
    for (const [at, answer] of answers.entries()) {
      t.is(answer.headers['content-encoding'], order[at] === GZIP ? 'gzip' : undefined)
      t.is(textOf(answer), textOf(first!))
      t.is(Number(answer.headers['content-length']), answer.bytes.length)
      t.is(answer.headers.vary, 'Accept-Encoding')
    }
    const together = await Promise.all(order.map((headers) => ask(`${url}/listings?limit=60`, headers)))
    for (const answer of together) t.is(textOf(answer), textOf(first!))
  }
})

test('compression: the answer with a new key is not compressed', async (t) => {
  const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
  const { url } = await startRegistry(t, { environment })
  const headers = { Authorization: 'Bearer admin', 'Accept-Encoding': 'gzip, identity;q=0' }
  const reply = await postJson(`${url}/admin/api-keys`, JSON.stringify({ name: 'é'.repeat(128) }), headers)
  t.is(reply.status, 201)
  t.is(reply.headers.get('content-encoding'), null)
  t.is(reply.headers.get('vary'), null)
})
