import { type JsonValue, parseJson } from '../../json/value.ts'
import type { LowestPrice, Sizes } from './price-key.ts'

/** The prices of a listing as a text that listings of the same prices share, short since an index keeps it; empty for none. */
export function writeTerms(prices: readonly LowestPrice[], { gpu }: Pick<Sizes, 'gpu'>): string {
  if (prices.length === 0) return ''
  const rows = prices.map(({ option: { chain, token, value, per } }) => [chain, token, String(value), per])
  return JSON.stringify([gpu, ...rows.flat()])
}

/** A listing of these prices and nothing else. */
export function listingOfTerms(terms: string): JsonValue {
  const [gpu_count = null, ...texts] = parseJson(terms) as JsonValue[]
  const accepted_escrows: JsonValue[] = []
  for (let n = 0; n < texts.length; n += 4) {
    const [chain_name, token, value, per] = texts.slice(n, n + 4) as [
      JsonValue,
      JsonValue,
      JsonValue,
      JsonValue,
    ]
    accepted_escrows.push({ chain_name, literal_fields: { token }, rates: { value, per } })
  }
  return { offer_resource: { gpu_count }, accepted_escrows }
}
