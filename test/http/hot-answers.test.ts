import test from 'ava'
import { startRegistry } from '../helpers/registry.ts'
import { ALICE, postJson, publish, unixNow } from '../helpers/seller.ts'

const GATED = { REGISTRY_REQUIRE_READ_API_KEY: 'true', REGISTRY_ADMIN_API_KEY: 'admin' }
const ADMIN = { Authorization: 'Bearer admin' }

test('the same question gets the same bytes, until something changes', async (t) => {
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
    { timestamp: unixNow() - 5 },
  )
  t.true((await get('/listings?limit=5')).text.includes('https://new.example/'))
})

test('a kept answer is given only to who passes the gate at that moment', async (t) => {
  const { url, get } = await startRegistry(t, { environment: GATED })
  const { key, id } = (await postJson(`${url}/admin/api-keys`, '{"name":"buyer"}', ADMIN)).json()
  const bearer = { Authorization: `Bearer ${key}` }
  t.is((await get('/listings', bearer)).status, 200)
  t.is((await get('/listings', bearer)).status, 200)
  t.is((await get('/listings')).status, 401)
  await fetch(`${url}/admin/api-keys/${id}`, { method: 'DELETE', headers: ADMIN })
  t.is((await get('/listings', bearer)).status, 401)
})

test('a condition on the request is still looked at', async (t) => {
  const { get } = await startRegistry(t)
  await get('/listings')
  t.is((await get('/listings', { 'If-Match': '"0"' })).status, 412)
})
