import { addTo, byCount, mapIn } from '../../domain/counts.ts'
import { basisOf, gpuCount, hasRates, isUnitWord, parseBasis } from '../../domain/price/payment-option.ts'
import { formatAmount, lowestPrices, type PriceKey, scaleKey } from '../../domain/price/price-key.ts'
import type { PriceCounts, PriceGrouping } from '../../domain/price/price-order.ts'
import { TokenTable } from '../../domain/price/token.ts'
import type { Item } from '../../domain/source/item.ts'
import type { Copy } from '../../listing-index/copy.ts'
import type { CopyMatches } from '../../listing-index/copy-matches.ts'
import { documentOf } from '../../listing-index/document-reader.ts'
import { addPriceCounts } from '../../listing-index/key-union.ts'
import { leadingPrice } from '../../wire/describe-summary.ts'
import type { NotCounted, PriceRangeJson } from '../../wire/facets.ts'
import { nameIn } from '../ask.ts'
import type { Asked } from '../asking.ts'
import type { MarketSettings } from '../market-settings.ts'
import type { PriceBounds } from '../pages/price-bounds.ts'

/** Matches whose prices are counted. */
type Counting = {
  settings: MarketSettings
  asked: Asked
  matches: CopyMatches
  bounds: PriceBounds
  prices: PriceGrouping
}

const MAX_PRICES = 32

/** What the counts say of each group of prices, less the outliers. */
export function rangesOf(
  counting: Counting,
  counts: ReadonlyMap<string, PriceCounts>,
  outliers: Outliers,
): PriceRangeJson[] {
  const { per } = counting.prices
  const { tokens } = counting.settings
  const chains = countChains(counting)
  return [...counts]
    .map(([group, counts]): GroupCounts => {
      const low = outliers.prices.get(group)
      return [group, low === undefined ? counts : addPriceCounts(counts, low, -1)]
    })
    .filter(([group, { offers }]) => offers > 0 && isUnitWord(tokenOf(group, tokens).unit))
    .sort((a, b) => rankOf(a) - rankOf(b) || byOffers(a, b))
    .slice(0, MAX_PRICES)
    .map(([group, { offers, gpus, keys, counts }]) => {
      const { decimals = null, hasGpus, chain, ...token } = tokenOf(group, tokens)
      const onChains =
        chain === undefined ? [...(chains.get(group) ?? [])].sort(byCount) : [[chain, offers] as const]
      const gpusAtLeast = token.symbol === undefined ? null : countLeastGpus(counting, group, keys[0]!)
      const amount = (key: PriceKey): string => formatAmount(key, decimals)
      return {
        ...token,
        chains: onChains.map(([chain, offers]) => ({ chain, offers })),
        ...(decimals !== null && { decimals }),
        price_per: per === 'gpu' && !hasGpus ? 'offer' : per,
        offers,
        ...(outliers.prices.has(group) && { outliers: outliers.prices.get(group)!.offers }),
        gpus,
        least: amount(keys[0]!),
        ...(gpusAtLeast !== null && { least_gpus: gpusAtLeast }),
        median: amount(medianOf(keys, counts, offers)),
        most: amount(keys.at(-1)!),
      }
    })
}

/** Offers by chain, of each group of prices in known tokens. */
function countChains({ matches, prices: { groupOf }, settings: { tokens } }: Counting) {
  const byGroup = new Map<string, Map<string, number>>()
  for (const [basis, { offers }] of matches.offers(tokens.all))
    addTo(mapIn(byGroup, groupOf(basis)), parseBasis(basis).chain, offers)
  return byGroup
}

type GroupCounts = [group: string, counts: PriceCounts]

function byOffers([a, one]: GroupCounts, [b, other]: GroupCounts): number {
  return other.offers - one.offers || (a < b ? -1 : 1)
}

/** Prices by the hour in a symbol that is worth something first, so that made-up units and tokens displace none of these. */
const RANKS = { money: 0, testnet: 1, other: 2 } as const

function rankOf([group]: GroupCounts): number {
  const read = TokenTable.readGroup(group)
  if ('basis' in read || read.unit !== 'hour') return RANKS.other
  return read.testnet ? RANKS.testnet : RANKS.money
}

type TokenOfPrices = Pick<PriceRangeJson, 'symbol' | 'testnet' | 'token' | 'decimals' | 'unit'> & {
  /** Of a token that is not known. */
  chain?: string
  hasGpus: boolean
}

function tokenOf(group: string, tokens: TokenTable): TokenOfPrices {
  const read = TokenTable.readGroup(group)
  if ('basis' in read) {
    const { chain, token, unit, hasGpus } = parseBasis(read.basis)
    return { chain, token, unit, hasGpus }
  }
  const { symbol, testnet, unit, hasGpus } = read
  return {
    symbol,
    ...(testnet && { testnet: true }),
    decimals: tokens.decimalsOf(symbol),
    unit,
    hasGpus,
  }
}

/** The lower one of two. */
function medianOf(keys: readonly PriceKey[], counts: readonly number[], offers: number): PriceKey {
  let left = Math.ceil(offers / 2)
  const n = counts.findIndex((count) => {
    left -= count
    return left <= 0
  })
  return keys[n]!
}

/** Listings at the same price that are looked at. */
const MAX_TIES = 100

/** The fewest GPUs of a listing at the least price of a group; `null` where none counts its GPUs. */
function countLeastGpus(
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

type Outliers = {
  /** Listings with such a price. */
  listings: number
  /** Their prices, by group as `prices` counts them. */
  prices: ReadonlyMap<string, PriceCounts>
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

function basesOf(group: string, tokens: TokenTable): string[] {
  const read = TokenTable.readGroup(group)
  return 'basis' in read ? [read.basis] : basesIn(read, tokens)
}

/** Of one symbol and unit, on every chain. */
function basesIn(
  { symbol, testnet, unit, hasGpus }: { symbol: string; testnet: boolean; unit: string; hasGpus: boolean },
  tokens: TokenTable,
): string[] {
  return tokens.all
    .filter((token) => token.symbol === symbol && (token.testnet === true) === testnet)
    .map(({ chain, address: token }) => basisOf({ chain, token, unit, hasGpus }))
}

/** Before all listings without a price. */
const FIRST = { price: 0, position: Number.POSITIVE_INFINITY, key: '' }

/** The listings that the leading price leaves out, each by one reason: with the offers of that price they are all matches. */
export function* countLeftOut(
  counting: Counting,
  ranges: readonly PriceRangeJson[],
): Generator<void, NotCounted> {
  const { asked, matches, prices, bounds, settings } = counting
  const { per, scaleOf } = prices
  const lead = leadingPrice(ranges)
  const counts: NotCounted = { ...(lead?.outliers && { outlier: lead.outliers }) }
  const groups = lead === undefined ? [] : [basesOfLead(lead, counting)]
  const reasonOf = (copy: Copy): keyof NotCounted => {
    if (bounds.outliersOf(copy, nameIn(asked, copy)).length > 0) return 'outlier'
    const { leading } = settings.itemPrices.of(copy)
    if (leading === null) return hasRates(documentOf(copy.bytes)) ? 'unreadable' : 'none'
    if (leading.testnet === true) return 'testnet'
    if (leading.symbol === undefined || leading.symbol !== lead?.symbol || leading.unit !== lead.unit)
      return 'other'
    if (leading.gpus === null) return 'whole'
    return per === 'gb' || per === 'tflop' ? 'unsized' : 'other'
  }
  const after = { ...FIRST, group: groups.length }
  for (const { copy } of matches.copiesByPrice({ groups, per, scaleOf }, after)) {
    yield
    const reason = reasonOf(copy)
    counts[reason] = (counts[reason] ?? 0) + 1
  }
  return counts
}

function basesOfLead(
  { symbol, unit, price_per }: PriceRangeJson,
  { prices: { per }, settings: { tokens } }: Counting,
): string[] {
  if (symbol === undefined) return []
  const kinds = per === 'offer' ? [true, false] : [price_per === per]
  return kinds.flatMap((hasGpus) => basesIn({ symbol, testnet: false, unit, hasGpus }, tokens))
}
