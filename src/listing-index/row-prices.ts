import { lowestPrices, type PriceKey, type Sizes } from '../domain/price/price-key.ts'
import { writeTerms } from '../domain/price/terms.ts'
import type { JsonValue } from '../json/value.ts'

/** The lowest price of one listing in each basis. */
export type RowPrices = {
  sizes: Sizes
  bases: readonly string[]
  /** Per basis, of the whole offer. */
  keys: readonly PriceKey[]
  /** As of `writeTerms`. Many rows share it. */
  terms: string
}

export function rowPrices(document: JsonValue, sizes: Sizes): RowPrices {
  const lowest = lowestPrices(document, 'offer', sizes)
  const prices = [...lowest.values()]
  return {
    sizes,
    bases: [...lowest.keys()],
    keys: prices.map(({ key }) => key),
    terms: writeTerms(prices, sizes),
  }
}
