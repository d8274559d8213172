import test from 'ava'
import { type Reply, startRegistry } from '../../../helpers/registry.ts'
import {
  ALICE,
  BOB,
  postJson,
  publish,
  publishBody,
  remove,
  unixNow,
  update,
} from '../../../helpers/seller.ts'

const toml = (limits: string): { toml: string } => ({ toml: `[limits]\n${limits}` })

test('rate limit: anonymous reads count by address, cached responses included', async (t) => {
  const { get } = await startRegistry(t, toml('anonymous_per_minute = 3'))
  const remaining = []
  for (let n = 0; n < 3; n++) remaining.push((await get('/listings')).headers.get('ratelimit'))
  t.deepEqual(
    remaining.map((header) => header?.replace(/t=\d+$/, 't=…')),
    ['"anonymous";r=2;t=…', '"anonymous";r=1;t=…', '"anonymous";r=0;t=…'],
  )
  const refused = await get('/listings')
  t.is(refused.status, 429)
  t.regex(refused.json().detail as string, /^More than 3 requests in a minute; try again in \d+ s$/)
  t.true(Number(refused.headers.get('retry-after')) >= 1)
  t.is((await get('/health')).status, 200, 'health is never counted')
})

const FORWARDED: readonly [entries: string, client: string][] = [
  ['203.0.113.7:51107', '203.0.113.7'],
  ['[203.0.113.8]', '203.0.113.8'],
  ['[2001:db8:1::1]', '2001:db8:1::1'],
  ['[2001:db8:2::1]:51107', '2001:db8:2::1'],
  ['[::ffff:203.0.113.9]:51107', '203.0.113.9'],
  ['198.51.100.1, 203.0.113.10:1,\t10.0.0.1:2', '203.0.113.10'],
]

test('rate limit: an address counts alike with brackets and a port, and so does one of a trusted proxy', async (t) => {
  const { get } = await startRegistry(
    t,
    toml('anonymous_per_minute = 1\ntrusted_proxies = ["127.0.0.0/8", "10.0.0.0/8"]'),
  )
  for (const [entries, client] of FORWARDED) {
    const statuses = [
      (await get('/listings', { 'X-Forwarded-For': entries })).status,
      (await get('/listings', { 'X-Forwarded-For': client })).status,
    ]
    t.deepEqual(statuses, [200, 429], entries)
  }
})

test('rate limit: each key has its own count', async (t) => {
  const environment = { REGISTRY_BOOTSTRAP_API_KEY: 'key', REGISTRY_REQUIRE_READ_API_KEY: 'true' }
  const { get } = await startRegistry(t, {
    environment,
    ...toml('anonymous_per_minute = 1\nread_key_per_minute = 2'),
  })
  const bearer = { Authorization: 'Bearer key' }
  t.is((await get('/listings', bearer)).status, 200)
  t.is((await get('/listings', bearer)).status, 200)
  t.is((await get('/listings', bearer)).status, 429)
  t.is((await get('/listings')).status, 401, 'who does not pass the gate is not counted')
})

test('rate limit: publishes count by address, then by publisher after the signature check', async (t) => {
  const { url, get } = await startRegistry(t, {
    ...toml('publish_per_minute = 2\ntrusted_proxies = ["127.0.0.0/8"]'),
  })
  const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })
  t.is((await publish(url, ALICE, { listing_id: 'a1' }, from('203.0.113.1'))).status, 201)
  t.is((await publish(url, ALICE, { listing_id: 'a2' }, from('203.0.113.2'))).status, 201)
  const refused = await publish(url, ALICE, { listing_id: 'a3' }, from('203.0.113.3'))
  t.is(refused.status, 429, 'one wallet, three addresses')
  const { headers } = refused
  const seconds = headers.get('retry-after')
  t.is(
    headers.get('ratelimit'),
    `"publisher";r=0;t=${seconds}`,
    'not of the address, which may still publish',
  )
  t.is(headers.get('ratelimit-policy'), '"publisher";q=2;w=60')
  t.is((await publish(url, BOB, { listing_id: 'b1' }, from('203.0.113.1'))).status, 201)
  t.is(
    (await publish(url, BOB, { listing_id: 'b2' }, from('203.0.113.1'))).status,
    429,
    'three from one address',
  )
  t.is((await get('/listings')).json().count, 3)
})

test('rate limit: the default lets a seller publish 300 listings a minute, repeats included, by address', async (t) => {
  const { url } = await startRegistry(t)
  const body = JSON.stringify(await publishBody(ALICE, { listing_id: 'one' }))
  // The count itself is the same for every limit; of 300 requests a busy machine may need more than a minute.
  for (const left of [299, 298]) {
    const { status, headers } = await postJson(`${url}/listings`, body)
    t.is(status, 201)
    t.regex(headers.get('ratelimit') ?? '', new RegExp(`^"publish";r=${left};t=\\d+$`))
    t.is(headers.get('ratelimit-policy'), '"publish";q=300;w=60')
  }
})

test('rate limit: repeated signed requests do not count for the publisher', async (t) => {
  const { url } = await startRegistry(t, {
    ...toml('publish_per_minute = 3\ntrusted_proxies = ["127.0.0.0/8"]'),
  })
  let addresses = 0
  const elsewhere = () => ({ 'X-Forwarded-For': `203.0.113.${++addresses}` })
  const now = unixNow()
  const body = JSON.stringify(await publishBody(ALICE, { listing_id: 'one' }, now))
  const repeat = () => postJson(`${url}/listings`, body, elsewhere())
  const reused = async () =>
    postJson(`${url}/listings`, JSON.stringify({ ...JSON.parse(body), demands: [1] }), elsewhere())
  const signed = () => ({ timestamp: now, headers: elsewhere() })
  const close = () => update(url, 'one', { status: 'closed' }, signed())
  const removeOne = () => remove(url, 'one', signed())
  const all = async (ask: () => Promise<Reply>) => {
    const replies = []
    for (let n = 0; n < 5; n++) replies.push((await ask()).status)
    return replies
  }
  t.deepEqual(await all(repeat), [201, 201, 201, 201, 201])
  t.deepEqual(await all(reused), [409, 409, 409, 409, 409])
  t.deepEqual(await all(close), [200, 200, 200, 200, 200])
  t.deepEqual(await all(removeOne), [204, 204, 204, 204, 204])
  t.is(
    (await publish(url, ALICE, { listing_id: 'two' }, { headers: elsewhere() })).status,
    429,
    'a fourth use',
  )
  t.is((await removeOne()).status, 204, 'a repeat is answered although the limit is used up')
})

test('rate limit: a request refused for its signer does not count for the signer', async (t) => {
  const { url } = await startRegistry(t, {
    ...toml('publish_per_minute = 3\ntrusted_proxies = ["127.0.0.0/8"]'),
  })
  let addresses = 0
  const elsewhere = () => ({ 'X-Forwarded-For': `203.0.113.${++addresses}` })
  await publish(url, BOB, { listing_id: 'bobs' }, { headers: elsewhere() })
  const now = unixNow()
  for (const [id, status] of [
    ['nowhere', 404],
    ['bobs', 401],
  ] as const) {
    for (let n = 0; n < 4; n++)
      t.is((await remove(url, id, { timestamp: now, headers: elsewhere() })).status, status)
  }
  for (let n = 0; n < 4; n++)
    t.is((await publish(url, ALICE, { listing_id: 'bobs' }, { headers: elsewhere() })).status, 403)
  t.is((await publish(url, ALICE, { listing_id: 'alices' }, { headers: elsewhere() })).status, 201)
})
