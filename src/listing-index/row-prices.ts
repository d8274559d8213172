import { type LowestPrice, lowestPrices, type PriceKey, type Sizes } from '../domain/price/price-key.ts'
import type { JsonValue } from '../json/value.ts'

/** The lowest price of one listing in each basis. */
export type RowPrices = {
  sizes: Sizes
  bases: readonly string[]
  /** Per basis, of the whole offer. */
  keys: readonly PriceKey[]
  /** A listing of the same prices and nothing else, as JSON that many rows share; empty without prices. */
  terms: string
}

export const NO_PRICES: RowPrices = {
  sizes: { gpu: null, gb: null, tflop: null },
  bases: [],
  keys: [],
  terms: '',
}

export function rowPrices(document: JsonValue, sizes: Sizes): RowPrices {
  const lowest = lowestPrices(document, 'offer', sizes)
  const prices = [...lowest.values()]
  return {
    sizes,
    bases: [...lowest.keys()],
    keys: prices.map(({ key }) => key),
    terms: termsOf(prices, sizes),
  }
}

function termsOf(prices: readonly LowestPrice[], { gpu }: Sizes): string {
  if (prices.length === 0) return ''
  const accepted_escrows = prices.map(({ option: { chain, token, value, per } }) => ({
    chain_name: chain,
    literal_fields: { token },
    rates: { value: String(value), per },
  }))
  return JSON.stringify({ offer_resource: { gpu_count: gpu }, accepted_escrows })
}
