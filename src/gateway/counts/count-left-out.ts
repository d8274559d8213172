import { basisOf, hasRates } from '../../domain/price/payment-option.ts'
import type { Copy } from '../../listing-index/copy.ts'
import { documentOf } from '../../listing-index/document-reader.ts'
import { leadingPrice } from '../../wire/describe-summary.ts'
import type { NotCounted, PriceRangeJson } from '../../wire/facets.ts'
import { nameIn } from '../asked.ts'
import type { Counting } from './count-outliers.ts'

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
  const groups = lead === undefined ? [] : [basesOf(lead, counting)]
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

function basesOf(
  { symbol, unit, price_per }: PriceRangeJson,
  { prices: { per }, settings: { tokens } }: Counting,
): string[] {
  const kinds = per === 'offer' ? [true, false] : [price_per === per]
  return tokens.all
    .filter((token) => token.symbol === symbol && token.testnet !== true)
    .flatMap(({ chain, address: token }) => kinds.map((hasGpus) => basisOf({ chain, token, unit, hasGpus })))
}
