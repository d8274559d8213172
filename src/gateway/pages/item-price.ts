import { basisOf, isUnitWord, type PaymentOption } from '../../domain/price/payment-option.ts'
import {
  comparePriceKeys,
  countedSizes,
  formatAmount,
  type LowestPrice,
  lowestPrices,
  type PriceKey,
  type PricePer,
  type Sizes,
  scaleKey,
} from '../../domain/price/price-key.ts'
import type { PriceOrder } from '../../domain/price/price-order.ts'
import { listingOfTerms } from '../../domain/price/terms.ts'
import type { Token, TokenTable } from '../../domain/price/token.ts'
import type { PriceLimit } from '../../domain/query.ts'
import { remembered } from '../../domain/remembered.ts'
import type { Item } from '../../domain/source/item.ts'
import type { JsonValue } from '../../json/value.ts'
import { documentOf } from '../../listing-index/document-reader.ts'
import type { ItemPrice } from '../../wire/listing.ts'

/** Which prices of a listing compare: the lowest of its first group counts. `null`: not this one. */
export type Comparison = {
  per: PricePer
  groupOf: (price: LowestPrice) => number | null
  /** Higher prices, of scaled keys, do not compare. */
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
  const compared = comparedPrice(prices, comparison, tokens)
  if (compared === undefined) return undefined
  const { chain, token } = compared.option
  return priceJson(compared, tokens.find(chain, token))
}

function priceJson({ option, key, gpus, per }: LowestPrice, token: Token | null): ItemPrice {
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
  { groupOf, max = Number.POSITIVE_INFINITY }: Comparison,
  { scaleOf }: TokenTable,
): LowestPrice | undefined {
  const compared = [...prices].flatMap(([basis, price]) => {
    const group = groupOf(price)
    const key = scaleKey(price.key, scaleOf?.(basis))
    return group === null || key > max ? [] : [{ price, group, key }]
  })
  return compared.sort((a, b) => a.group - b.group || comparePriceKeys(a.key, b.key))[0]?.price
}

type Prices = {
  /** The one that leads; `null` without a price. */
  leading: ItemPrice | null
  /** Per GPU or offer, in known tokens: the lowest of each group of `TokenTable.groupingOf`. */
  byGroup: ReadonlyMap<string, PriceKey>
}

/**
 * What listings cost where a reader compares nothing: per GPU, in the currency that leads. Tokens that are worth something lead those
 * of test networks, and known ones the others; of each, prices by the hour lead; then the order of the operator's file decides,
 * or of the listing for tokens that are not known. A listing is read once, and those with the same prices have the same object.
 */
export class ItemPrices {
  readonly #tokens: TokenTable
  readonly #byTerms = new Map<string, Prices>()
  readonly #byItem = new WeakMap<Item, Prices>()
  /** Of symbols, in the operator's file. */
  readonly #places: ReadonlyMap<string, number>

  constructor(tokens: TokenTable) {
    this.#tokens = tokens
    this.#places = new Map(tokens.all.map(({ symbol }, n) => [symbol, n] as const).reverse())
  }

  of(item: Item): Prices {
    const { terms } = item
    if (terms === '') return NO_PRICES
    if (terms !== undefined) return remembered(this.#byTerms, terms, () => this.#read(listingOfTerms(terms)))
    const known = this.#byItem.get(item)
    if (known !== undefined) return known
    const prices = this.#read(documentOf(item.bytes))
    this.#byItem.set(item, prices)
    return prices
  }

  #read(listing: JsonValue): Prices {
    let leading: Ranked | null = null
    const byGroup = new Map<string, PriceKey>()
    const groupOf = this.#tokens.groupingOf('gpu')
    for (const [basis, price] of lowestPrices(listing, 'gpu', countedSizes(listing, ''))) {
      const ranked = this.#rank(price, basis)
      if (leading === null || leads(ranked, leading)) leading = ranked
      if (ranked.token === null || !isUnitWord(price.option.unit)) continue
      const group = groupOf(basis)
      const known = byGroup.get(group)
      if (known === undefined || ranked.key < known) byGroup.set(group, ranked.key)
    }
    return { leading: leading && priceJson(leading.price, leading.token), byGroup }
  }

  #rank(price: LowestPrice, basis: string): Ranked {
    const { chain, token: address, unit } = price.option
    const token = this.#tokens.find(chain, address)
    const kind = token === null ? 2 : token.testnet === true ? 1 : 0
    const place = token === null ? 0 : this.#places.get(token.symbol)!
    const key = scaleKey(price.key, this.#tokens.scaleOf?.(basis))
    return { price, key, token, rank: [kind, unit === 'hour' ? 0 : 1, place] }
  }
}

const NO_PRICES: Prices = { leading: null, byGroup: new Map() }

type Ranked = { price: LowestPrice; key: PriceKey; token: Token | null; rank: readonly number[] }

/** Prices of one rank that do not compare keep the order of the listing. */
function leads({ rank, key, token, price }: Ranked, before: Ranked): boolean {
  const n = rank.findIndex((one, at) => one !== before.rank[at])
  if (n !== -1) return rank[n]! < before.rank[n]!
  return token !== null && price.option.unit === before.price.option.unit && key < before.key
}
