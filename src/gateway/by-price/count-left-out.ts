import { basisOf, hasRates } from '../../domain/price/payment-option.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import type { Item } from '../../domain/source/item.ts'
import type { PriceGrouping } from '../../domain/source/selection.ts'
import { leadingPrice } from '../../wire/describe-summary.ts'
import type { NotCounted, PriceRangeJson } from '../../wire/facets.ts'
import type { NamedMatches } from '../asked.ts'
import { readListing } from '../merged-item.ts'
import type { MarketSettings } from '../sources.ts'
import type { PriceBounds } from './price-bounds.ts'

type Counted = {
  prices: readonly PriceRangeJson[]
  grouping: PriceGrouping
  bounds: PriceBounds
  settings: Pick<MarketSettings, 'tokens' | 'itemPrices'>
}

/** Before all listings without a price. */
const FIRST = { key: 0, position: Number.POSITIVE_INFINITY, listingId: '' }

/** The listings that the leading price leaves out, each by one reason: with the offers of that price they are all matches. */
export function* countLeftOut(
  { matches, nameOf }: NamedMatches,
  { prices, grouping: { per, scaleOf }, bounds, settings: { tokens, itemPrices } }: Counted,
): Generator<void, NotCounted> {
  const lead = leadingPrice(prices)
  const counts: NotCounted = { ...(lead?.outliers && { outlier: lead.outliers }) }
  const groups = lead === undefined ? [] : [basesOf(lead, per, tokens)]
  const reasonOf = (item: Item, source: string): keyof NotCounted => {
    if (bounds.outliersOf(item, source).length > 0) return 'outlier'
    const { leading } = itemPrices.of(item, () => readListing(item))
    if (leading === null) return hasRates(readListing(item)) ? 'unreadable' : 'none'
    if (leading.testnet === true) return 'testnet'
    if (leading.symbol === undefined || leading.symbol !== lead?.symbol || leading.unit !== lead.unit)
      return 'other'
    if (leading.gpus === null) return 'whole'
    return per === 'gb' || per === 'tflop' ? 'unsized' : 'other'
  }
  const after = { ...FIRST, group: groups.length }
  for (const { copy } of matches.copiesByPrice({ groups, per, scaleOf }, after)) {
    yield
    const reason = reasonOf(copy, nameOf(copy))
    counts[reason] = (counts[reason] ?? 0) + 1
  }
  return counts
}

function basesOf(
  { symbol, unit, price_per }: PriceRangeJson,
  per: PriceGrouping['per'],
  tokens: TokenTable,
): string[] {
  const kinds = per === 'offer' ? [true, false] : [price_per === per]
  return tokens.all
    .filter((token) => token.symbol === symbol && token.testnet !== true)
    .flatMap(({ chain, address: token }) => kinds.map((hasGpus) => basisOf({ chain, token, unit, hasGpus })))
}
