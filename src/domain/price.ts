import { type JsonObject, textAt } from '../json/value.ts'

/** The first rate of the first escrow, in base units; the token's decimals are on its chain. */
export type Price = { value: bigint; per: string; token: string | null; chain: string | null }

export function priceOf(listing: JsonObject): Price | null {
  const rate = (member: string) => textAt(listing, 'accepted_escrows', 0, 'rates', 0, member)
  const value = rate('value')
  const per = rate('per')
  if (value === null || per === null || !/^\d{1,78}$/.test(value)) return null
  return {
    value: BigInt(value),
    per,
    token: textAt(listing, 'accepted_escrows', 0, 'literal_fields', 'token'),
    chain: textAt(listing, 'accepted_escrows', 0, 'chain_name'),
  }
}

/** `16,800,000`; `1/token` for a unit other than the hour. */
export function formatPrice(price: Price | null): string | null {
  if (price === null) return null
  return price.per === 'hour' ? groupDigits(price.value) : `${groupDigits(price.value)}/${price.per}`
}

export const groupDigits = (value: bigint): string => String(value).replace(/\B(?=(\d{3})+$)/g, ',')
