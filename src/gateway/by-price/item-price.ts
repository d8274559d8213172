import { basisOf, type PaymentOption } from '../../domain/price/payment-option.ts'
import {
  comparePriceKeys,
  formatAmount,
  type LowestPrice,
  lowestPrices,
  type PriceKey,
  type PricePer,
  type ScaleOf,
  type Sizes,
  scaleKey,
} from '../../domain/price/price-key.ts'
import { listingOfTerms } from '../../domain/price/terms.ts'
import type { Token, TokenTable } from '../../domain/price/token.ts'
import type { PriceLimit } from '../../domain/query.ts'
import type { Item } from '../../domain/source/item.ts'
import type { PriceOrder } from '../../domain/source/selection.ts'
import type { JsonValue } from '../../json/value.ts'
import { documentOf } from '../../listing-index/document-reader.ts'
import type { ItemPrice } from '../../wire/listing.ts'

/** Which prices of a listing compare: the lowest of its first group counts. `null`: not this one. */
export type Comparison = {
  per: PricePer
  groupOf: (price: LowestPrice) => number | null
  scaleOf?: ScaleOf | undefined
  /** Higher prices, of scaled keys, do not compare. */
  max?: PriceKey | undefined
}

export function comparisonIn({ groups, per, scaleOf, max }: PriceOrder): Comparison {
  const groupOf = ({ option, gpus }: LowestPrice): number | null => {
    const basis = basisOf({ ...option, hasGpus: gpus !== null })
    const group = groups.findIndex((bases) => bases.includes(basis))
    return group === -1 ? null : group
  }
  return { per, groupOf, scaleOf, max }
}

/** Prices of other units count where a listing has none by the hour. */
export function comparisonWith({ tokens, per, scaleOf, max }: PriceLimit): Comparison {
  const isCompared = ({ chain, token }: PaymentOption): boolean =>
    tokens.some((one) => one.chain === chain && one.address === token)
  const groupOf = ({ option, per: pricePer }: LowestPrice): number | null =>
    pricePer === per && isCompared(option) ? (option.unit === 'hour' ? 0 : 1) : null
  return { per, groupOf, scaleOf, max }
}

/** The price of a listing that was compared; `undefined` without one. */
export function itemPrice(
  item: Pick<Item, 'bytes' | 'terms'>,
  comparison: Comparison,
  { tokens, sizesOf }: { tokens: TokenTable; sizesOf: (listing: JsonValue) => Sizes },
): ItemPrice | undefined {
  const { bytes, terms } = item
  if (terms === '') return undefined
  // Only the sizes of a model are in the listing alone. A listing of 64 KiB takes a millisecond to read.
  const isOfModel = comparison.per === 'gb' || comparison.per === 'tflop'
  const listing = terms === undefined || isOfModel ? documentOf(bytes) : listingOfTerms(terms)
  const prices = lowestPrices(listing, comparison.per, sizesOf(listing))
  const compared = comparedPrice(prices, comparison)
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
  prices: ReadonlyMap<string, LowestPrice>,
  { groupOf, scaleOf, max = Number.POSITIVE_INFINITY }: Comparison,
): LowestPrice | undefined {
  const compared = [...prices].flatMap(([basis, price]) => {
    const group = groupOf(price)
    const key = scaleKey(price.key, scaleOf?.(basis))
    return group === null || key > max ? [] : [{ price, group, key }]
  })
  return compared.sort((a, b) => a.group - b.group || comparePriceKeys(a.key, b.key))[0]?.price
}
