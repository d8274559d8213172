import test, { type ExecutionContext } from 'ava'
import { listingText } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { ALICE, BOB, publish } from '../../helpers/seller.ts'
import { idsOf } from '../../helpers/sequence.ts'
import { ed25519Key, type Key, walletKey } from '../../helpers/signed-line.ts'
import { authorityEnvironment, readSigned } from '../../helpers/signed-reader.ts'
import { identityToml, signedSettings, startSignedRegistry } from '../../helpers/signed-registry.ts'

const OTHER = BOB.address.toLowerCase()
const KEY = ed25519Key(Buffer.alloc(32, 5))
const SELLER = walletKey(ALICE)
const STOREFRONT = 'http://storefront.example/'

/** A listing that costs so many cents an hour. */
const settled = (listing_id: string, seller: Key, cents: string) => ({
  listing_id,
  seller,
  offer_resource: { gpu_model: 'H200', gpu_count: 1, region: 'Reykjavik, IS' },
  settlement_options: [
    {
      option_id: '0'.repeat(64),
      mechanism: 'fiat.stripe.v1',
      asset: 'usd',
      rates: [{ field: 'amount', per: 'hour', value: cents }],
      params: {},
    },
  ],
})

/** Two plain and two signed upstreams, and a Registry of its own. */
async function start(t: ExecutionContext) {
  const row = (listing_id: string, publisher_id: number) =>
    listingText({ listing_id, publisher_id, storefront_url: STOREFRONT })
  const publishers: [number, string, string][] = [[7, OTHER, STOREFRONT]]
  const large = row('large', 7).replace('"gpu_count":1', '"gpu_count":9007199254740993')
  const plain = [
    await startFake(t, { items: [row('plain-1', 7), row('unknown', 8), large], publishers }),
    await startFake(t, { items: [row('plain-2', 7)], publishers }),
  ]
  const signed = [
    await startSignedRegistry(t, [settled('signed-1', SELLER, '250'), settled('both', KEY, '300')]),
    await startSignedRegistry(t, [settled('signed-2', KEY, '200'), settled('both', KEY, '300')]),
  ]
  const upstreams = [0, 1].flatMap((n) => [
    { name: `plain-${n}`, url: plain[n]!.url },
    { name: `signed-${n}`, url: signed[n]!.url, settings: signedSettings(signed[n]!.identifier) },
  ])
  const environment = authorityEnvironment(t)
  const service = await startPatientGateway(t, upstreams, { environment, more: identityToml(t) })
  await publish(service.url, ALICE, {
    listing_id: 'own',
    storefront_url: STOREFRONT,
    offer_resource: { gpu_model: 'H200', region: 'Reykjavik, IS' },
    accepted_escrows: [],
    demands: [],
  })
  return service
}

type Page = { items: { listing_id: string }[]; complete: boolean; total_after_filter: number }

test('mixed market: readers of both lines get the items of both, less what cannot be signed', async (t) => {
  const { url, get } = await start(t)
  for (const [filter, limit] of [
    ['', 50],
    ['&region=Reykjavik,+IS', 50],
    ['', 3],
    ['&gpu=H200', 50],
  ] as const) {
    const query = `limit=${limit}${filter}`
    const plain = (await get(`/listings?limit=50${filter}`)).json() as Page
    const signed = await readSigned(url, `/listings?${query}`)
    t.true(signed.isSigned)
    t.true(plain.complete, query)
    const unsignable = new Set(['unknown', 'large'])
    t.deepEqual(
      idsOf(signed.body),
      idsOf(plain)
        .filter((id) => !unsignable.has(id))
        .slice(0, limit),
      query,
    )
  }
  const all = (await get('/listings?limit=50')).json() as Page
  t.deepEqual(idsOf(all).sort(), [
    'both',
    'large',
    'own',
    'plain-1',
    'plain-2',
    'signed-1',
    'signed-2',
    'unknown',
  ])
  for (const id of ['own', 'plain-1', 'plain-2', 'signed-1', 'signed-2', 'both']) {
    t.is((await get(`/listings/${id}`)).status, 200, id)
    const single = await readSigned(url, `/listings/${id}`)
    t.deepEqual([single.status, single.isSigned], [200, true], id)
  }
})

test('mixed market: settlement options are prices in their asset', async (t) => {
  const { get, url } = await start(t)
  const query = 'sort=price&price_token=usd'
  const ordered = (await get(`/listings?${query}`)).json() as Page & {
    items: { _meta: { price?: object } }[]
  }
  t.deepEqual(idsOf(ordered).slice(0, 3), ['signed-2', 'signed-1', 'both'])
  t.like(ordered.items[0]?._meta.price, {
    chain: 'fiat.stripe.v1',
    token: 'usd',
    symbol: 'USD',
    amount: '2',
    unit: 'hour',
  })
  const cheap = (await get(`/listings?${query}&price_max=2.50`)).json() as Page
  t.deepEqual(idsOf(cheap), ['signed-2', 'signed-1'])
  t.is(cheap.total_after_filter, 2)
  t.deepEqual(idsOf((await readSigned(url, `/listings?${query}&price_max=2.50`)).body), [
    'signed-2',
    'signed-1',
  ])
  const { prices } = (await get('/facets?by=region')).json() as { prices: { symbol?: string }[] }
  t.like(
    prices.find(({ symbol }) => symbol === 'USD'),
    { symbol: 'USD', unit: 'hour', least: '2', most: '3' },
  )
})
