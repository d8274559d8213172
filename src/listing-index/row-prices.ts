import { lowestPrices, type PriceKey, type Sizes } from '../domain/price/price-key.ts'
import type { JsonValue } from '../json/value.ts'

/** The lowest price of one listing in each basis. */
export type RowPrices = {
  sizes: Sizes
  bases: readonly string[]
  /** Per basis, of the whole offer. */
  keys: readonly PriceKey[]
}

export const NO_PRICES: RowPrices = { sizes: { gpu: null, gb: null, tflop: null }, bases: [], keys: [] }

export function rowPrices(document: JsonValue, sizes: Sizes): RowPrices {
  const lowest = lowestPrices(document, 'offer', sizes)
  return { sizes, bases: [...lowest.keys()], keys: Array.from(lowest.values(), ({ key }) => key) }
}
