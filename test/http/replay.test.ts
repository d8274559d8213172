import test from 'ava'
import { FIXED_TIME, openMarket } from '../helpers/market.ts'
import { ALICE, BOB, postJson, publishBody, sign } from '../helpers/seller.ts'

/** `protocol.md` 8, Replay: each sentence of that decision over HTTP. */

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The other signature of the same message by the same wallet, which anybody can make: n - s, and the other parity. */
const twin = (signature: string): string => {
  const hex = signature.replace(/^0x/, '')
  const s = (CURVE_ORDER - BigInt(`0x${hex.slice(64, 128)}`)).toString(16).padStart(64, '0')
  return `0x${hex.slice(0, 64)}${s}${hex.endsWith('1b') ? '1c' : '1b'}`
}

test('the very same publish again is answered as the first time and changes nothing', async (t) => {
  const { url, publish, listing } = await openMarket(t)
  const body = JSON.stringify(await publishBody(ALICE, { listing_id: 'one', demands: [1] }, FIXED_TIME))
  const first = await postJson(`${url}/listings`, body)
  await publish({ listing_id: 'one', demands: [2], status: 'closed' }, FIXED_TIME - 1)
  const again = await postJson(`${url}/listings`, body)
  t.is(again.status, 201)
  t.is(again.text, first.text)
  t.like(await listing('one'), { demands: [2], status: 'closed' })
})

test('a publish repeated after the listing has gone, or has become somebody else’s, does not bring it back', async (t) => {
  const { url, publish, remove, listing } = await openMarket(t)
  const body = JSON.stringify(await publishBody(ALICE, { listing_id: 'one', demands: [1] }, FIXED_TIME))
  const first = await postJson(`${url}/listings`, body)
  await remove('one')
  t.is((await postJson(`${url}/listings`, body)).text, first.text)
  t.is(await listing('one'), null)
  await publish({ listing_id: 'one', demands: [2] }, FIXED_TIME, BOB)
  t.is((await postJson(`${url}/listings`, body)).text, first.text)
  t.deepEqual((await listing('one'))?.demands, [2])
})

test('a publish signature with another body for its listing is 409, whatever form it comes in', async (t) => {
  const { url, publish, listing } = await openMarket(t)
  await publish({ listing_id: 'one', demands: [1] })
  const body = await publishBody(ALICE, { listing_id: 'one', demands: [2] }, FIXED_TIME)
  const signature = String(body.signature)
  const zeroParity = signature.slice(0, -2) + (signature.endsWith('1b') ? '00' : '01')
  for (const form of [
    signature,
    signature.slice(2),
    signature.toUpperCase().slice(2),
    zeroParity,
    twin(signature),
  ]) {
    const reply = await postJson(`${url}/listings`, JSON.stringify({ ...body, signature: form }))
    t.is(reply.status, 409, form)
    t.is(reply.json().type, 'urn:entrepot:problem:signature_reused')
    t.regex(reply.json().detail as string, /sign again with a new timestamp/)
  }
  t.deepEqual((await listing('one'))?.demands, [1])
})

test('the twin of a signature is good for a first use: it is the same wallet that signed', async (t) => {
  const { url } = await openMarket(t)
  const body = await publishBody(ALICE, { listing_id: 'one' }, FIXED_TIME)
  const reply = await postJson(
    `${url}/listings`,
    JSON.stringify({ ...body, signature: twin(String(body.signature)) }),
  )
  t.is(reply.status, 201)
})

test('two listings of the same second carry the same signature, and both are taken', async (t) => {
  const { publish, get } = await openMarket(t)
  for (const listing_id of ['one', 'two', 'three'])
    t.is((await publish({ listing_id, storefront_url: 'https://a.example/' })).status, 201)
  t.is((await get('/listings')).json().count, 3)
})

test('a publish signature seen with one storefront URL cannot bring another', async (t) => {
  const { publish, listing } = await openMarket(t)
  await publish({ listing_id: 'one', storefront_url: 'https://a.example/' })
  t.is((await publish({ listing_id: 'two', storefront_url: 'https://evil.example/' })).status, 409)
  t.is(await listing('two'), null)
  t.is((await publish({ listing_id: 'two' })).status, 201, 'none is no other')
  t.is((await listing('one'))?.storefront_url, 'https://a.example/')

  await publish({ listing_id: 'three' }, FIXED_TIME - 1)
  const later = { listing_id: 'four', storefront_url: 'https://evil.example/' }
  t.is((await publish(later, FIXED_TIME - 1)).status, 409, 'nor where it came with none')
  t.is((await publish(later, FIXED_TIME - 2)).status, 201, 'a new signature can')
})

test('the very same update again is answered as the first time, another body is 409', async (t) => {
  const { publish, update, listing } = await openMarket(t)
  await publish({ listing_id: 'one' })
  const first = await update('one', { status: 'closed' })
  t.is((await update('one', { status: 'open' }, FIXED_TIME - 1)).status, 200)
  t.is((await update('one', { status: 'closed' })).text, first.text)
  t.is((await listing('one'))?.status, 'open', 'the repeat has not closed it')
  t.is((await update('one', { status: 'expired' })).status, 409)
  t.is((await listing('one'))?.status, 'open')
})

test('an update repeated after the listing has gone, or has changed hands, is answered as the first time', async (t) => {
  const { publish, update, remove, listing } = await openMarket(t)
  await publish({ listing_id: 'one' })
  const first = await update('one', { status: 'closed' })
  await remove('one')
  t.is((await update('one', { status: 'closed' })).text, first.text)
  t.is((await update('one', { status: 'expired' })).status, 404, 'another body is no repeat')
  await publish({ listing_id: 'one' }, FIXED_TIME, BOB)
  t.is((await update('one', { status: 'closed' })).text, first.text)
  t.is((await update('one', { status: 'expired' })).status, 401)
  t.is((await listing('one'))?.status, 'open')
})

test('a used delete signature is answered as the first time and takes nothing published since', async (t) => {
  const { url, publish, remove, listing } = await openMarket(t)
  await publish({ listing_id: 'one' })
  t.is((await remove('one')).status, 204)
  t.is((await remove('one')).status, 204, 'while the listing is away')
  await publish({ listing_id: 'one' }, FIXED_TIME - 1)
  const signature = await sign(ALICE, 'delete_listing', 'one', FIXED_TIME)
  for (const form of [signature, signature.slice(2), twin(signature)]) {
    const reply = await fetch(`${url}/listings/one?signature=${form}&timestamp=${FIXED_TIME}`, {
      method: 'DELETE',
    })
    t.is(reply.status, 204)
    t.truthy(await listing('one'))
  }
  await remove('one', FIXED_TIME - 1)
  await publish({ listing_id: 'one' }, FIXED_TIME, BOB)
  t.is((await remove('one')).status, 204, 'and nothing of anybody else')
  t.truthy(await listing('one'))
  t.is((await remove('one', FIXED_TIME - 2)).status, 401, 'a new signature is not the owner’s now')
  t.is((await remove('one', FIXED_TIME - 2, BOB)).status, 204)
})

test('a refused request leaves its signature good', async (t) => {
  const { publish, update, remove } = await openMarket(t)
  t.is((await publish({ listing_id: 'one', status: 'nonsense' })).status, 400)
  t.is((await publish({ listing_id: 'one' })).status, 201)
  t.is((await update('two', { status: 'closed' })).status, 404)
  t.is((await remove('two')).status, 404)
  await publish({ listing_id: 'two' }, FIXED_TIME - 1)
  t.is((await update('two', { status: 'closed', more: 1 })).status, 200)
  t.is((await remove('two')).status, 204)
})

test('a signature is forgotten once it can no longer be used', async (t) => {
  let now = FIXED_TIME
  const { publish } = await openMarket(t, { nowSeconds: () => now })
  await publish({ listing_id: 'one' })
  now += 301
  t.is((await publish({ listing_id: 'one' })).status, 401, 'the very same request too: its time is over')
  t.is((await publish({ listing_id: 'one', demands: [2] }, now)).status, 201)
})

test('one Registry’s replay guard says nothing to another’s', async (t) => {
  const [a, b] = [await openMarket(t), await openMarket(t)]
  for (const { publish, update, remove } of [a, b]) {
    t.is((await publish({ listing_id: 'one' })).status, 201)
    t.is((await update('one', { status: 'closed' })).status, 200)
    t.is((await remove('one')).status, 204)
  }
})
