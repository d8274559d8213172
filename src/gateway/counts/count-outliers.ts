import { basisOf, gpuCount, parseBasis } from '../../domain/price/payment-option.ts'
import { lowestPrices, type PriceKey, scaleKey } from '../../domain/price/price-key.ts'
import { TokenTable } from '../../domain/price/token.ts'
import type { Item } from '../../domain/source/item.ts'
import type { PriceCounts, PriceGrouping } from '../../domain/source/selection.ts'
import type { CopyMatches } from '../../listing-index/copy-matches.ts'
import { documentOf } from '../../listing-index/document-reader.ts'
import { addPriceCounts } from '../../listing-index/key-union.ts'
import { nameIn } from '../asked.ts'
import type { MarketSettings } from '../market-settings.ts'
import type { PriceBounds } from '../pages/price-bounds.ts'
import type { Asked } from '../sources.ts'

export type Outliers = {
  /** Listings with such a price. */
  listings: number
  /** Their prices, by group as `prices` counts them. */
  prices: ReadonlyMap<string, PriceCounts>
}

/** Matches whose prices are counted. */
export type Counting = {
  settings: MarketSettings
  asked: Asked
  matches: CopyMatches
  bounds: PriceBounds
  prices: PriceGrouping
}

/** The outliers among all matches: of each group of prices the cheapest are looked at, up to the highest bound. */
export function* countOutliers(counting: Counting): Generator<void, Outliers> {
  const { asked, matches, bounds, prices, settings } = counting
  const { tokens } = settings
  const counted = new Map<string, PriceCounts>()
  const listings = new Set<string>()
  for (const [group, highest] of bounds.highest) {
    const bases = basesOf(group, tokens)
    const name = prices.groupOf(bases[0]!)
    const order = { groups: [bases], per: 'gpu', scaleOf: tokens.scaleOf } as const
    for (const { copy, group: at, price: key } of matches.copiesByPrice(order, null)) {
      yield
      if (at > 0 || key >= highest) break
      const source = nameIn(asked, copy)
      if (!bounds.outliersOf(copy, source).includes(group)) continue
      listings.add(`${source}\n${copy.key}`)
      const price = priceIn(copy, { bases, prices, source })
      if (price === null) continue
      const known = counted.get(name)
      counted.set(name, known === undefined ? price : addPriceCounts(known, price))
    }
  }
  return { listings: listings.size, prices: counted }
}

/** Listings at the same price that are looked at. */
const MAX_TIES = 100

/** The fewest GPUs of a listing at the least price of a group; `null` where none counts its GPUs. */
export function countLeastGpus(
  { settings, asked, matches, bounds, prices }: Counting,
  group: string,
  least: PriceKey,
): number | null {
  const bases = basesOf(group, settings.tokens).flatMap((basis) => bothKinds(basis, prices.per))
  const { per, scaleOf } = prices
  let fewest: number | null = null
  let left = MAX_TIES
  const order = { groups: [bases], per, scaleOf, max: least }
  for (const { copy, group: at, price: key } of matches.copiesByPrice(order, null)) {
    if (at > 0) break
    if (key !== least) continue
    if (left-- === 0) break
    if (bounds.outliersOf(copy, nameIn(asked, copy)).length > 0) continue
    const gpus = gpuCount(documentOf(copy.bytes))
    if (gpus !== null && (fewest === null || gpus < fewest)) fewest = gpus
  }
  return fewest
}

/** Prices of whole offers have one group with and without a count of GPUs. */
function bothKinds(basis: string, per: PriceGrouping['per']): string[] {
  if (per !== 'offer') return [basis]
  return [true, false].map((hasGpus) => basisOf({ ...parseBasis(basis), hasGpus }))
}

/** Of one symbol and unit. */
function basesOf(group: string, tokens: TokenTable): string[] {
  const read = TokenTable.readGroup(group)
  if ('basis' in read) return [read.basis]
  return tokens
    .named(read.symbol, true)
    .filter(({ symbol, testnet }) => symbol === read.symbol && (testnet === true) === read.testnet)
    .map(({ chain, address }) => basisOf({ ...read, chain, token: address }))
}

/** The one price of that listing that is counted in the group of these bases; `null` for none. */
function priceIn(
  item: Item,
  { bases, prices, source }: { bases: readonly string[]; prices: PriceGrouping; source: string },
): PriceCounts | null {
  const listing = documentOf(item.bytes)
  const { per, scaleOf, sizesOf } = prices
  const keys = [...lowestPrices(listing, per, sizesOf(listing, source))].flatMap(([basis, { key }]) =>
    bases.includes(basis) ? scaleKey(key, scaleOf?.(basis)) : [],
  )
  if (keys.length === 0) return null
  const key = keys.reduce((one: PriceKey, other) => (other < one ? other : one))
  return { offers: 1, gpus: gpuCount(listing) ?? 0, keys: [key], counts: [1] }
}
