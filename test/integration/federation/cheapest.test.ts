import test from 'ava'
import { type FakeRegistry, listingText } from '../../helpers/fake-registry.ts'
import { startFake, startGateway, whenReady } from '../../helpers/gateway.ts'
import { seededRandom } from '../../helpers/random.ts'
import type { RunningService } from '../../helpers/registry.ts'
import { idsOf, walkAll } from '../../helpers/sequence.ts'
import { filterOf, specBody } from '../../helpers/specs.ts'

const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const USDC_ON_ETHEREUM = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const SELLERS = [1, 2, 3].map((n) => [n, `0x${String(n).repeat(40)}`] as const)

type Listing = {
  listing_id: string
  publisher_id: number
  created_at: string
  offer_resource: { gpu_model: string; gpu_count: number }
  accepted_escrows: { chain_name: string; literal_fields: object; rates: unknown }[]
}

/** Many ties, copies with other prices, and terms of every absurd kind. */
function listingsOf(seed: number): string[] {
  const { next: random } = seededRandom(seed)
  const one = <T>(...choices: readonly T[]): T => choices[Math.floor(random() * choices.length)]!
  return Array.from({ length: 100 }, (_, n) => {
    const absurd = {
      field: 'amount',
      value: one<unknown>(`${10n ** 78n}`, '-5', 'free', null, 0.5, {}),
      per: 'hour',
    }
    const rates = Array.from({ length: one(1, 1, 1, 2, 40) }, () =>
      one<object>(
        { field: 'amount', value: String(100_000 * Math.floor(random() * 30)), per: 'hour' },
        { field: 'amount', value: String(2_400_000 * Math.floor(random() * 30)), per: 'day' },
        { field: 'amount', value: '7', per: 'request' },
        absurd,
      ),
    )
    const [chain_name, token] = one(
      ['base', USDC],
      ['base', USDC],
      ['ethereum', USDC_ON_ETHEREUM],
      ['nowhere', USDC],
      ['base', 'USDC'],
    )
    const escrow = { chain_name, literal_fields: { token, symbol: 'USDC' }, rates }
    return listingText({
      listing_id: `l${Math.floor(random() * 200)}-${n % 3}`,
      publisher_id: one(1, 2, 3),
      created_at: `2026-11-20T15:33:${String(10 + (n % 20))}.000000`,
      offer_resource: { gpu_model: one('H200', 'H200', 'H100'), gpu_count: one(1, 2, 8, 8, 16, 1024) },
      accepted_escrows: one<unknown>([escrow], [escrow], [escrow, escrow], null, 'x'),
    })
  })
}

/** Newest first and each id once, as a Registry serves them. */
function inOrder(items: readonly string[]): string[] {
  const parsed = items.map((text) => ({ text, listing: JSON.parse(text) as Listing }))
  const byId = new Map(parsed.map((one) => [one.listing.listing_id, one]))
  return [...byId.values()]
    .sort(
      ({ listing: a }, { listing: b }) =>
        compare(b.created_at, a.created_at) || compare(a.listing_id, b.listing_id),
    )
    .map(({ text }) => text)
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Reads everything of these sources, the best one first, filters what is left, and sorts it exactly. */
function cheapest(fakes: readonly FakeRegistry[], { max = null as bigint | null } = {}): string[] {
  const shown = new Map<string, { listing: Listing; price: Price | null }>()
  for (const { items } of fakes)
    for (const item of items) {
      const listing = JSON.parse(item) as Listing
      const price = priceOf(listing, max)
      const key = `${listing.publisher_id} ${listing.listing_id}`
      if (!shown.has(key)) shown.set(key, { listing, price })
    }
  return [...shown.values()]
    .filter(
      ({ listing, price }) => listing.offer_resource.gpu_model === 'H200' && (max === null || price !== null),
    )
    .sort((a, b) => compareOffers(a, b))
    .map(({ listing }) => `${listing.publisher_id} ${listing.listing_id}`)
}

/** Microdollars: per GPU and hour as a fraction, and whether it is per request. */
type Price = { over: bigint; under: bigint; unit: number }

function compareOffers(a: { listing: Listing; price: Price | null }, b: typeof a): number {
  const [one, other] = [a.price, b.price]
  if (one !== null && other !== null) {
    const difference = one.over * other.under - other.over * one.under
    if (one.unit !== other.unit) return one.unit - other.unit
    if (difference !== 0n) return difference < 0n ? -1 : 1
  } else if (one !== other) return one === null ? 1 : -1
  return (
    compare(b.listing.created_at, a.listing.created_at) ||
    compare(a.listing.listing_id, b.listing.listing_id) ||
    0
  )
}

function pricesOf({ offer_resource: { gpu_count }, accepted_escrows: escrows }: Listing): Price[] {
  if (!Array.isArray(escrows)) return []
  const rates = escrows.flatMap(({ chain_name, literal_fields, rates }) => {
    const { token } = literal_fields as { token: string }
    const isUsdc =
      (chain_name === 'base' && token === USDC) || (chain_name === 'ethereum' && token === USDC_ON_ETHEREUM)
    return (rates as { value: unknown; per: string }[]).map((rate) => ({ ...rate, isUsdc }))
  })
  return rates
    .filter(({ value }) => typeof value === 'string' && /^\d{1,77}$/.test(value))
    .slice(0, 32)
    .flatMap(({ value, per, isUsdc }) =>
      isUsdc
        ? {
            over: BigInt(value as string),
            under: BigInt(gpu_count) * (per === 'day' ? 24n : 1n),
            unit: per === 'request' ? 1 : 0,
          }
        : [],
    )
}

/** The lowest within the ceiling. */
function priceOf(listing: Listing, max: bigint | null): Price | null {
  const prices = pricesOf(listing).filter(({ over, under }) => max === null || over <= max * under)
  return prices.sort((a, b) => a.unit - b.unit || Number(a.over * b.under - b.over * a.under))[0] ?? null
}

type Page = {
  items: {
    listing_id: string
    publisher_id: number
    _meta: { price?: { amount: string; unit: string; symbol?: string } }
  }[]
  total_after_filter: number
  complete: boolean
  next_cursor?: string
  sources: { registry: string; state: string; reason?: string }[]
}

const QUESTION = '/listings?gpu_model=H200&sort=price&price_token=USDC'

async function read({ get }: RunningService, path: string): Promise<Page> {
  const { status, text, json } = await get(path)
  if (status !== 200) throw new Error(`${status} ${text}`)
  return json() as unknown as Page
}

const keysOf = ({ items }: Pick<Page, 'items'>): string[] =>
  items.map(({ listing_id, publisher_id }) => `${publisher_id} ${listing_id}`)

test('the cheapest H200 of three upstreams is what a plain script finds', async (t) => {
  const [a, b, c] = await Promise.all(
    [1, 2, 3].map((seed) => startFake(t, { items: inOrder(listingsOf(seed)), publishers: SELLERS })),
  )
  if (!a || !b || !c) return t.fail()
  b.filterSpec = specBody('b', [filterOf('gpu_model')])
  const gateway = await startGateway(t, [
    { name: 'a', url: a.url, settings: 'priority = 1' },
    { name: 'b', url: b.url, settings: 'priority = 2' },
    { name: 'c', url: c.url, settings: 'priority = 3' },
  ])
  await whenReady(gateway)

  const expected = cheapest([a, b, c])
  const whole = await read(gateway, `${QUESTION}&limit=200`)
  t.deepEqual(keysOf(whole), expected)
  t.true(whole.complete)
  t.is(whole.total_after_filter, expected.length)
  t.true(new Set(expected).size > 100)

  t.deepEqual(await walkAll(gateway, `${QUESTION.slice('/listings?'.length)}&limit=23`), idsOf(whole))

  const { text } = await gateway.get(QUESTION, { Accept: 'application/x-ndjson' })
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.deepEqual(keysOf({ items: lines.slice(0, -1) }), expected)
  t.like(lines.at(-1), { _meta: { complete: true } })

  const amounts = whole.items.flatMap(({ _meta: { price } }) =>
    price?.symbol === 'USDC' && price.unit === 'hour' ? Number(price.amount) : [],
  )
  t.deepEqual(
    amounts,
    amounts.toSorted((one, other) => one - other),
  )

  const cheap = await read(gateway, `${QUESTION}&price_max=0.25&limit=200`)
  t.deepEqual(keysOf(cheap), cheapest([a, b, c], { max: 250_000n }))
  const newest = await read(gateway, '/listings?gpu_model=H200&price_max=0.25&price_token=USDC&limit=200')
  t.deepEqual(keysOf(newest).sort(), keysOf(cheap).sort())
  for (const { _meta } of newest.items) t.true(Number(_meta.price?.amount) <= 0.25)
  for (const fake of [a, b, c])
    for (const { parameters } of fake.requests)
      for (const name of parameters.keys()) t.notRegex(name, /sort|price/)
})

test('by price, an upstream that fails or is too large makes the answer incomplete, never wrong', async (t) => {
  const [a, b, c] = await Promise.all(
    [4, 5, 6].map((seed) => startFake(t, { items: inOrder(listingsOf(seed)), publishers: SELLERS })),
  )
  if (!a || !b || !c) return t.fail()
  b.script = [{ kind: 'status', status: 503 }]
  const held = { ...c, items: c.items.slice(0, 50) }
  const gateway = await startGateway(t, [
    { name: 'a', url: a.url },
    { name: 'large', url: c.url, settings: 'max_listings = 50' },
    { name: 'b', url: b.url },
  ])
  for (const path of [`${QUESTION}&limit=200`, `${QUESTION}&limit=200&price_max=1000`]) {
    const page = await read(gateway, path)
    t.deepEqual(keysOf(page), cheapest([a, held], { max: path.includes('max') ? 1_000_000_000n : null }))
    t.false(page.complete)
    const [, , large, away] = page.sources
    t.like(away, { registry: 'b', state: 'unavailable', reason: 'http_503' })
    t.like(large, { registry: 'large', state: 'partial', reason: 'too_large' })
  }
})
