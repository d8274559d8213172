import { listingText } from './fake-registry.ts'

type OutlierCase = {
  name: string
  /** Millionths of a USDC per hour of one H200, by seller: `a` has the listings `a-0`, `a-1`, …. */
  offers: Readonly<Record<string, readonly number[]>>
  /** Ids of the outliers, cheapest first. */
  outliers: readonly string[]
}

const HONEST = { h: [2_000_000], i: [2_000_000], j: [2_000_000], k: [2_100_000], l: [2_200_000] }

/** The rule about outliers, which holds at every door. */
export const OUTLIER_CASES: readonly OutlierCase[] = [
  { name: 'a price below 1 % of the median', offers: { ...HONEST, a: [19_999] }, outliers: ['a-0'] },
  { name: 'a price at 1 % of the median is not one', offers: { ...HONEST, a: [20_000] }, outliers: [] },
  {
    name: 'a publisher counts once, whatever it offers',
    offers: { ...HONEST, a: Array.from({ length: 12 }, (_, n) => n + 1), b: [20_001, 19_000] },
    outliers: [...Array.from({ length: 12 }, (_, n) => `a-${n}`), 'b-1'],
  },
  {
    name: 'four publishers are too few',
    offers: { h: [2_000_000, 2_000_001], i: [2_000_000], j: [2_000_000, 3_000_000], a: [1] },
    outliers: [],
  },
]

export function listingsOf({ offers }: OutlierCase): string[] {
  return Object.entries(offers).flatMap(([seller, prices], publisher) =>
    prices.map((price, n) =>
      listingText({
        listing_id: `${seller}-${n}`,
        publisher_id: publisher + 1,
        storefront_url: `http://${seller}.example/`,
        offer_resource: { gpu_model: 'H200', gpu_count: 1 },
        accepted_escrows: [
          {
            chain_name: 'base',
            literal_fields: { token: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' },
            rates: [{ field: 'amount', per: 'hour', value: String(price) }],
          },
        ],
      }),
    ),
  )
}

/** Ids in an order by price: outliers last. */
export function idsByPrice({ offers, outliers }: OutlierCase): string[] {
  const all = Object.entries(offers).flatMap(([seller, prices]) =>
    prices.map((price, n) => ({ id: `${seller}-${n}`, price })),
  )
  return all
    .toSorted(
      (a, b) =>
        Number(outliers.includes(a.id)) - Number(outliers.includes(b.id)) ||
        a.price - b.price ||
        (a.id < b.id ? -1 : 1),
    )
    .map(({ id }) => id)
}
