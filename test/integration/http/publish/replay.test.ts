import test, { type ExecutionContext } from 'ava'
import { FIXED_TIME, openMarket } from '../../../helpers/market.ts'
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
  const close = () => update('one', { status: 'closed' }, FIXED_TIME)
  const drop = () => remove('one', FIXED_TIME)
  t.is((await close()).text, (await close()).text)
  t.is((await update('one', { status: 'open' }, FIXED_TIME - 1)).status, 200)
  reusedIs409(t, await close(), 'changed since')
  for (let n = 0; n < 2; n++) t.is((await drop()).status, 204)
  reusedIs409(t, await close(), 'gone since')
  await publish({ listing_id: 'one' }, FIXED_TIME, BOB)
  for (const reply of [await close(), await drop()]) reusedIs409(t, reply, 'of another wallet since')
  t.is((await listing('one'))?.status, 'open')
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
