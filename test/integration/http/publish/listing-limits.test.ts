import test from 'ava'
import { FIXED_TIME, openMarket } from '../../../helpers/market.ts'
import { ALICE, BOB, postJson, publishBody } from '../../../helpers/seller.ts'

const MAX_BYTES = 65_536

/** Bytes of the listing as the list shows it. */
function servedBytes(text: string): number {
  const [, row] = /^\{"items":\[(.*)\],"count":1,/s.exec(text)!
  return Buffer.byteLength(row!)
}

test('listing size: 64 KiB as served are accepted, one byte more is refused', async (t) => {
  const { publish, get } = await openMarket(t)
  const fields = { listing_id: 'é"', storefront_url: 'https://é.example/', status: 'closed' }
  const padded = (length: number) => ({ ...fields, offer_resource: { text: 'x'.repeat(length) } })
  const served = async () => servedBytes((await get('/listings?status=')).text)
  t.is((await publish(padded(MAX_BYTES))).status, 422)
  t.is((await get('/publishers')).json().count, 0, 'a refused first listing leaves no publisher')
  await publish(padded(0))
  const room = MAX_BYTES - (await served())
  t.is((await publish(padded(room), FIXED_TIME - 1)).status, 201)
  t.is(await served(), MAX_BYTES)
  const refused = await publish(padded(room + 1), FIXED_TIME - 2)
  t.is(refused.status, 422)
  t.regex(refused.json().detail as string, /65,?536 bytes/)
  t.is(await served(), MAX_BYTES)
})

test('listing size: a storefront URL is refused if it makes a listing too large', async (t) => {
  const { publish, listing } = await openMarket(t)
  const large = { listing_id: 'large', offer_resource: { text: 'x'.repeat(64_000) } }
  t.is((await publish({ ...large, storefront_url: 'https://a.example/' })).status, 201)
  const longer = `https://a.example/${'y'.repeat(2000)}`
  const refused = await publish({ listing_id: 'small', storefront_url: longer }, FIXED_TIME - 1)
  t.is(refused.status, 422)
  t.regex(refused.json().detail as string, /storefront_url: .*"large".* 65536 bytes/)
  t.is(await listing('small'), null)
  const moved = 'https://b.example/y'
  t.is((await publish({ listing_id: 'small', storefront_url: moved }, FIXED_TIME - 2)).status, 201)
  t.is((await listing('large'))?.storefront_url, moved)
})

/** An array of so many levels. */
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

test('listing depth: 32 levels are accepted, 33 refused', async (t) => {
  const { url, listing } = await openMarket(t)
  const publish = async (n: number, demands: string) => {
    const body = JSON.stringify(await publishBody(ALICE, { listing_id: 'one', demands: 0 }, FIXED_TIME - n))
    return postJson(`${url}/listings`, body.replace('"demands":0', `"demands":${demands}`))
  }
  t.is((await publish(0, nested(31))).status, 201)
  const before = await listing('one')
  const refused = await publish(1, nested(32))
  t.is(refused.status, 422)
  t.is(refused.json().detail, 'JSON is nested 33 deep; at most 32 is allowed')
  t.deepEqual(await listing('one'), before)
})

test('listing count: a publisher has at most listings_per_publisher', async (t) => {
  const toml =
    '[registry]\nlisting_shape = "off"\n[limits]\npublish_per_minute = 0\nlistings_per_publisher = 2'
  const { publish, update, remove } = await openMarket(t, { toml })
  for (const listing_id of ['a', 'b']) t.is((await publish({ listing_id })).status, 201)
  const refused = await publish({ listing_id: 'c' })
  t.is(refused.status, 403)
  t.is(refused.json().type, 'urn:entrepot:problem:quota_exceeded')
  t.regex(refused.json().detail as string, /at most 2 listings .*listings_per_publisher.* delete/)
  t.is((await update('a', { status: 'closed' })).status, 200)
  t.is((await publish({ listing_id: 'c' })).status, 403, 'a closed listing counts')
  t.is((await publish({ listing_id: 'c' }, FIXED_TIME, BOB)).status, 201, 'another publisher has its own')
  t.is((await remove('a')).status, 204)
  t.is((await publish({ listing_id: 'd' })).status, 201)
})
