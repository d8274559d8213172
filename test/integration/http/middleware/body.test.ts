import { connect } from 'node:net'
import test from 'ava'
import { startRegistry } from '../../../helpers/registry.ts'
import { ALICE, mintKey, postJson, publish, publishBody } from '../../../helpers/seller.ts'

/** The status of a request whose body is announced and never sent. */
async function statusWithoutBody(
  url: string,
  path: string,
  headers: readonly string[] = [],
  length = 200_000,
): Promise<number> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const lines = [`POST ${path} HTTP/1.1`, 'Host: a', `Content-Length: ${length}`, ...headers]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  let answer = ''
  for await (const chunk of socket.setEncoding('latin1')) {
    answer += chunk
    if (answer.includes('\r\n')) break
  }
  return Number(answer.split(' ')[1])
}

const GATES = {
  REGISTRY_REQUIRE_READ_API_KEY: 'true',
  REGISTRY_REQUIRE_WRITE_API_KEY: 'true',
  REGISTRY_BOOTSTRAP_API_KEY: 'writer',
  REGISTRY_ADMIN_API_KEY: 'admin',
}
const PATHS = ['/listings', '/api/v1/listings/validate-publish', '/mcp', '/admin/api-keys']

for (const path of PATHS)
  test(`body: POST ${path} without a key is refused before it is read`, async (t) => {
    const { url } = await startRegistry(t, { environment: GATES })
    t.is(await statusWithoutBody(url, path), 401)
    t.is(await statusWithoutBody(url, path, [], 2 ** 40), 401)
    t.is((await postJson(url + path, '{"not":"JSON')).status, 401)
  })

test('body: not read if the key has too small a scope', async (t) => {
  const { url } = await startRegistry(t, { environment: GATES })
  const { key } = await mintKey(url)
  t.is(await statusWithoutBody(url, '/listings', [`Authorization: Bearer ${key}`]), 403)
})

test('body: invalid ones count for the rate limit, beyond which none is read', async (t) => {
  const { url } = await startRegistry(t, { toml: '[limits]\npublish_per_minute = 3\n' })
  t.is((await postJson(`${url}/listings`, '{"not":"JSON')).status, 422)
  t.is((await postJson(`${url}/listings`, `[${'1,'.repeat(2000)}1]`)).status, 422)
  t.is(await statusWithoutBody(url, '/listings', [], 300_000), 413)
  t.is(await statusWithoutBody(url, '/listings'), 429)
  t.is((await publish(url, ALICE, { listing_id: 'a' })).status, 429)
})

test('body: one announced as too large is refused before it is read', async (t) => {
  const { url } = await startRegistry(t)
  for (const path of PATHS.slice(0, 3))
    for (const length of [300_000, 2 ** 40])
      t.is(await statusWithoutBody(url, path, [], length), 413, `${path} ${length}`)
})

test('body: a long array is refused before the body is parsed', async (t) => {
  const { url } = await startRegistry(t)
  const refused = await postJson(`${url}/listings`, `{"demands":[${'1,'.repeat(1000)}1] and no JSON`)
  t.is(refused.status, 422)
  t.is(refused.json().detail, 'An array has more than 1000 items')
})

test('body: one byte order mark is dropped before a publish, too', async (t) => {
  const { url, get } = await startRegistry(t)
  const offer_resource = { region: 'Zürich' }
  const body = await publishBody(ALICE, { listing_id: 'é', offer_resource })
  const marked = `\ufeff${JSON.stringify(body)}`
  t.is((await postJson(`${url}/api/v1/listings/validate-publish`, marked)).status, 200)
  t.is((await postJson(`${url}/listings`, marked)).status, 201)
  t.is((await postJson(`${url}/listings`, marked.slice(1))).status, 201, 'it is the same request')
  t.like((await get(`/listings/${encodeURIComponent('é')}`)).json().listing, { offer_resource })
})

test('body: invalid UTF-8, half a JSON text and byte order marks without JSON are syntax errors', async (t) => {
  const { url } = await startRegistry(t)
  const listing = Buffer.from('{"listing_id":"é"}')
  const bodies = [
    Buffer.from(listing.toString(), 'latin1'),
    Buffer.from('\ufeff'),
    Buffer.from(`\ufeff\ufeff${listing}`),
    listing.subarray(0, -1),
  ]
  for (const body of bodies) {
    const reply = await fetch(`${url}${PATHS[1]}`, { method: 'POST', body })
    t.is(reply.status, 422)
    t.regex(((await reply.json()) as { detail: string }).detail, /^JSON decode error/)
  }
})

test('body: JSON without Content-Type or of a +json type, and with any member names, is read', async (t) => {
  const { url } = await startRegistry(t)
  const send = (text: string) =>
    fetch(`${url}${PATHS[1]}`, { method: 'POST', body: Buffer.from(text) }).then(({ status }) => status)
  t.is(await send('{"listing_id":"a"}'), 200)
  t.is(await send('{"listing_id":"a","__proto__":{},"constructor":{"prototype":1}}'), 200)
  const headers = { 'Content-Type': 'application/ld+json' }
  t.is((await postJson(`${url}${PATHS[1]}`, '{"listing_id":"a"}', headers)).status, 200)
})

test('body: of a malformed Content-Type is refused as not JSON, after the limit of its size', async (t) => {
  const { url } = await startRegistry(t)
  for (const type of ['garbage', '', 'application/', 'text/plain']) {
    const refused = await postJson(`${url}${PATHS[1]}`, '{"listing_id":"a"}', { 'Content-Type': type })
    t.is(refused.status, 422, type)
    t.regex(refused.json().detail as string, /send it as application\/json/, type)
    const headers = [`Content-Type: ${type}`]
    t.is(await statusWithoutBody(url, PATHS[1]!, headers, 300_000), 413, type)
  }
})
