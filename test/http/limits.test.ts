import test from 'ava'
import { startRegistry } from '../helpers/registry.ts'
import { ALICE, BOB, publish } from '../helpers/seller.ts'

const toml = (limits: string): { toml: string } => ({ toml: `[limits]\n${limits}` })

test('reads without a key are counted by address, kept answers included', async (t) => {
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

test('a key has a count of its own', async (t) => {
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

test('publishes are counted by address before the signature is checked, and by publisher behind it', async (t) => {
  const { url, get } = await startRegistry(t, {
    ...toml('publish_per_minute = 2\ntrusted_proxies = ["127.0.0.0/8"]'),
  })
  const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })
  t.is((await publish(url, ALICE, { listing_id: 'a1' }, from('203.0.113.1'))).status, 201)
  t.is((await publish(url, ALICE, { listing_id: 'a2' }, from('203.0.113.2'))).status, 201)
  t.is(
    (await publish(url, ALICE, { listing_id: 'a3' }, from('203.0.113.3'))).status,
    429,
    'one wallet, three addresses',
  )
  t.is((await publish(url, BOB, { listing_id: 'b1' }, from('203.0.113.1'))).status, 201)
  t.is(
    (await publish(url, BOB, { listing_id: 'b2' }, from('203.0.113.1'))).status,
    429,
    'three from one address',
  )
  t.is((await get('/listings')).json().count, 3)
})
