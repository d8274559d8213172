import test, { type ExecutionContext } from 'ava'
import { FIXED_TIME, type Market, openMarket } from '../../../helpers/market.ts'
import type { Reply } from '../../../helpers/registry.ts'
import { ALICE, BOB, mintKey, postJson, publishBody } from '../../../helpers/seller.ts'

/** The replay guard over HTTP. Its rules are those of the store: `test/integration/store/contract/`. */

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The other signature of the same message by the same wallet, which takes no key to make: n - s, and the other parity. */
function twin(signature: string): string {
  const hex = signature.replace(/^0x/, '')
  const s = (CURVE_ORDER - BigInt(`0x${hex.slice(64, 128)}`)).toString(16).padStart(64, '0')
  return `0x${hex.slice(0, 64)}${s}${hex.endsWith('1b') ? '1c' : '1b'}`
}

function reusedIs409(t: ExecutionContext, reply: Reply, when: string): void {
  t.is(reply.status, 409, when)
  t.is(reply.json().type, 'urn:entrepot:problem:signature_reused')
  t.regex(reply.json().detail as string, /sign again with a newer timestamp$/)
}

test('replay: an identical publish gets the same receipt while the listing is unchanged', async (t) => {
  let now = FIXED_TIME
  const { url, publish, get } = await openMarket(t, { nowSeconds: () => now })
  const fields = { listing_id: 'one', demands: [1], storefront_url: 'https://a.example/' }
  const body = JSON.stringify(await publishBody(ALICE, fields, FIXED_TIME))
  const first = await postJson(`${url}/listings`, body)
  await publish({ listing_id: 'two', storefront_url: 'https://b.example/' }, FIXED_TIME - 1)
  const before = (await get('/listings')).text
  const again = await postJson(`${url}/listings`, body)
  t.is(again.status, 201)
  t.is(again.text, first.text)
  t.is((await get('/listings')).text, before, 'and changes nothing')
  now += 301
  t.is((await postJson(`${url}/listings`, body)).status, 401, 'until its time is over')
})

test('replay: a publish is never answered with a changed or deleted listing', async (t) => {
  const { url, publish, update, remove, listing } = await openMarket(t)
  const body = JSON.stringify(await publishBody(ALICE, { listing_id: 'one', demands: [1] }, FIXED_TIME))
  const again = () => postJson(`${url}/listings`, body)
  t.is((await again()).status, 201)
  await update('one', { status: 'closed' })
  reusedIs409(t, await again(), 'closed')
  t.like(await listing('one'), { demands: [1], status: 'closed' })
  await remove('one')
  reusedIs409(t, await again(), 'gone')
  t.is(await listing('one'), null)
  await publish({ listing_id: 'one', demands: [2] }, FIXED_TIME, BOB)
  reusedIs409(t, await again(), 'of another wallet')
  t.deepEqual((await listing('one'))?.demands, [2])
})

test('replay: a used signature with another body is 409 in every form', async (t) => {
  const { url, listing } = await openMarket(t)
  const body = await publishBody(ALICE, { listing_id: 'one', demands: [1] }, FIXED_TIME)
  const signature = String(body.signature)
  const send = (changed: object) => postJson(`${url}/listings`, JSON.stringify({ ...body, ...changed }))
  t.is((await send({ signature: twin(signature) })).status, 201, 'an unused twin is good')
  const zeroParity = signature.slice(0, -2) + (signature.endsWith('1b') ? '00' : '01')
  for (const form of [
    signature,
    signature.slice(2),
    signature.toUpperCase().slice(2),
    zeroParity,
    twin(signature),
  ])
    reusedIs409(t, await send({ signature: form, demands: [2] }), form)
  t.deepEqual((await listing('one'))?.demands, [1])
})

test('replay: an identical update or delete is answered alike until the listing changes, and then 409', async (t) => {
  const { publish, update, remove, listing } = await openMarket(t)
  await publish({ listing_id: 'one' })
  const close = () => update('one', { status: 'closed' })
  t.is((await close()).text, (await close()).text)
  t.is((await update('one', { status: 'open' }, FIXED_TIME - 1)).status, 200)
  reusedIs409(t, await close(), 'changed since')
  for (let n = 0; n < 2; n++) t.is((await remove('one')).status, 204)
  reusedIs409(t, await close(), 'gone since')
  await publish({ listing_id: 'one' }, FIXED_TIME, BOB)
  for (const reply of [await close(), await remove('one')]) reusedIs409(t, reply, 'of another wallet since')
  t.is((await listing('one'))?.status, 'open')
})

test('replay: 5 s after its first use a signature changes no other listing', async (t) => {
  let now = FIXED_TIME
  const { publish, listing } = await openMarket(t, { nowSeconds: () => now })
  await publish({ listing_id: 'hers', demands: [1] }, FIXED_TIME - 1)
  const first = await publish({ listing_id: 'one' })
  now += 5
  t.is((await publish({ listing_id: 'two' })).status, 201)
  now += 1
  reusedIs409(
    t,
    await publish({ listing_id: 'hers', demands: ['EVIL'], status: 'closed' }),
    'a known listing',
  )
  reusedIs409(t, await publish({ listing_id: 'new' }), 'a new one')
  t.is((await publish({ listing_id: 'one' })).text, first.text, 'a repeat is answered')
  t.like(await listing('hers'), { demands: [1], status: 'open' })
  t.is((await publish({ listing_id: 'new' }, now)).status, 201, 'signed again')
})

test('replay: with the write gate on, a signature is good for the API key of its first use', async (t) => {
  let now = FIXED_TIME
  const environment = { REGISTRY_REQUIRE_WRITE_API_KEY: 'true', REGISTRY_ADMIN_API_KEY: 'admin' }
  const { url, listing } = await openMarket(t, { environment, nowSeconds: () => now })
  const [hers, strangers] = [await mintKey(url, { scope: 'write' }), await mintKey(url, { scope: 'write' })]
  const publishing = async ({ bearer }: typeof hers, fields: Record<string, unknown>) =>
    postJson(`${url}/listings`, JSON.stringify(await publishBody(ALICE, fields, FIXED_TIME)), bearer)
  t.is((await publishing(hers, { listing_id: 'one' })).status, 201)
  reusedIs409(t, await publishing(strangers, { listing_id: 'two' }), 'another key')
  reusedIs409(t, await publishing(strangers, { listing_id: 'one', status: 'closed' }), 'the same listing')
  now += 60
  t.is((await publishing(hers, { listing_id: 'two' })).status, 201, 'her key, whenever')
  t.like(await listing('one'), { status: 'open' })
})

async function useSignatures({ publish, update, remove }: Market): Promise<void> {
  await publish({ listing_id: 'one', demands: [1] })
  await publish({ listing_id: 'gone' })
  await update('one', { status: 'closed' })
  await remove('gone')
  await publish({ listing_id: 'gone' }, FIXED_TIME + 1)
}

test('replay: a clock set back does not reopen a forgotten signature', async (t) => {
  let now = FIXED_TIME
  const market = await openMarket(t, { nowSeconds: () => now })
  const { publish, update, remove, listing } = market
  await useSignatures(market)
  now = FIXED_TIME + 3600
  t.is((await publish({ listing_id: 'one', demands: [3] })).status, 401, 'by that clock it is no good')
  t.is((await publish({ listing_id: 'later' }, now)).status, 201)
  now = FIXED_TIME + 10
  const rows = () => Promise.all(['one', 'gone', 'new'].map(listing))
  const before = await rows()
  reusedIs409(t, await publish({ listing_id: 'one', demands: [2] }), 'publish')
  reusedIs409(t, await update('one', { status: 'expired' }), 'update')
  reusedIs409(t, await remove('gone'), 'delete')
  const theft = { listing_id: 'new', storefront_url: 'https://evil.example/' }
  reusedIs409(t, await publish(theft), 'a new storefront')
  t.deepEqual(await rows(), before)
  t.is((await publish({ listing_id: 'after' }, now)).status, 201, 'a new signature is good')
})

test('replay: after a clock was a day ahead for minutes, new signatures are good and its own stay used', async (t) => {
  const DAY = 86_400
  let now = FIXED_TIME
  const market = await openMarket(t, { nowSeconds: () => now })
  const { publish, get } = market
  await useSignatures(market)
  now = FIXED_TIME + DAY
  t.is((await publish({ listing_id: 'ahead', demands: [1] }, now)).status, 201)
  now += 720
  t.is((await publish({ listing_id: 'ahead later' }, now)).status, 201)
  for (const seconds of [20, 720]) {
    now = FIXED_TIME + seconds
    t.is((await publish({ listing_id: 'one' }, now)).status, 201)
    t.is((await market.update('one', { status: 'open' }, now)).status, 200)
  }
  t.is((await get('/health')).status, 200)
  now = FIXED_TIME + DAY + 60
  for (const listing_id of ['ahead', 'one', 'new'])
    reusedIs409(t, await publish({ listing_id, demands: [2] }, FIXED_TIME + DAY), listing_id)
  t.is((await publish({ listing_id: 'a day later' }, now)).status, 201)
})

test('replay: each Registry has its own replay guard', async (t) => {
  const [a, b] = [await openMarket(t), await openMarket(t)]
  for (const { publish, update, remove } of [a, b]) {
    t.is((await publish({ listing_id: 'one' })).status, 201)
    t.is((await update('one', { status: 'closed' })).status, 200)
    t.is((await remove('one')).status, 204)
  }
})
