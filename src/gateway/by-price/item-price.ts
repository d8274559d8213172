import { basisOf, type PaymentOption } from '../../domain/price/payment-option.ts'
import {
  comparePriceKeys,
  formatAmount,
  type LowestPrice,
  lowestPrices,
  type PriceKey,
  type PricePer,
  type Sizes,
} from '../../domain/price/price-key.ts'
import type { Token, TokenTable } from '../../domain/price/token.ts'
import type { PriceLimit } from '../../domain/query.ts'
import type { PriceOrder } from '../../domain/source/selection.ts'
import type { JsonValue } from '../../json/value.ts'
import { documentOf } from '../../listing-index/document-reader.ts'
import type { ItemPrice } from '../../wire/listing.ts'

/** Which prices of a listing compare: the lowest of its first group counts. `null`: not this one. */
type Comparison = {
  per: PricePer
  groupOf: (price: LowestPrice) => number | null
  /** Higher prices do not compare. */
  max?: PriceKey | undefined
}

export function comparisonIn({ groups, per, max }: PriceOrder): Comparison {
  const groupOf = ({ option, gpus }: LowestPrice): number | null => {
    const basis = basisOf({ ...option, hasGpus: gpus !== null })
    const group = groups.findIndex((bases) => bases.includes(basis))
    return group === -1 ? null : group
  }
  return { per, groupOf, max }
}

/** Prices of other units count where a listing has none by the hour. */
export function comparisonWith({ tokens, per, max }: PriceLimit): Comparison {
  const isCompared = ({ chain, token }: PaymentOption): boolean =>
    tokens.some((one) => one.chain === chain && one.address === token)
  const groupOf = ({ option, per: pricePer }: LowestPrice): number | null =>
    pricePer === per && isCompared(option) ? (option.unit === 'hour' ? 0 : 1) : null
  return { per, groupOf, max }
}

/** The price of a listing that was compared; `undefined` without one. */
export function itemPrice(
  bytes: Uint8Array,
  comparison: Comparison,
  { tokens, sizesOf }: { tokens: TokenTable; sizesOf: (listing: JsonValue) => Sizes },
): ItemPrice | undefined {
  const listing = documentOf(bytes)
  const prices = lowestPrices(listing, comparison.per, sizesOf(listing))
  const compared = comparedPrice([...prices.values()], comparison)
  if (compared === undefined) return undefined
  const { chain, token } = compared.option
  return priceJson(compared, tokens.find(chain, token))
}

export function priceJson({ option, key, gpus, per }: LowestPrice, token: Token | null): ItemPrice {
  return {
    chain: option.chain,
    token: option.token,
    ...(token && {
      symbol: token.symbol,
      decimals: token.decimals,
      ...(token.testnet === true && { testnet: true }),
    }),
    value: String(option.value),
    per: option.per,
    unit: option.unit,
    gpus,
    price_per: per,
    amount: formatAmount(key, token?.decimals ?? null),
  }
}

/** The lowest of the first group; `undefined` where none compares. */
function comparedPrice(
  prices: readonly LowestPrice[],
  { groupOf, max = Number.POSITIVE_INFINITY }: Comparison,
): LowestPrice | undefined {
  const compared = prices.flatMap((price) => {
    const group = groupOf(price)
    return group === null || price.key > max ? [] : [{ ...price, group }]
  })
  return compared.sort((a, b) => a.group - b.group || comparePriceKeys(a.key, b.key))[0]
}
