import { countedSizes, type LowestPrice, lowestPrices, type PriceKey } from '../../domain/price/price-key.ts'
import type { Token, TokenTable } from '../../domain/price/token.ts'
import { remembered } from '../../domain/remembered.ts'
import type { Item } from '../../domain/source/reading.ts'
import { type JsonValue, parseJson } from '../../json/value.ts'
import type { ItemPrice } from '../../wire/listing.ts'
import { priceJson } from './item-price.ts'

/**
 * What listings cost where a reader compares nothing: per GPU, in the currency that leads. Tokens that are worth something lead those
 * of test networks, and known ones the others; of each, prices by the hour lead; then the order of the operator's file decides,
 * or of the listing for tokens that are not known. A listing is read once.
 */
export class LeadingPrices {
  readonly #tokens: TokenTable
  readonly #byTerms = new Map<string, ItemPrice | null>()
  readonly #byItem = new WeakMap<Item, ItemPrice | null>()
  /** Of symbols, in the operator's file. */
  readonly #places: ReadonlyMap<string, number>

  constructor(tokens: TokenTable) {
    this.#tokens = tokens
    this.#places = new Map(tokens.all.map(({ symbol }, n) => [symbol, n] as const).reverse())
  }

  /** `undefined` without a price. Listings with the same prices have the same object. */
  of(item: Item, readListing: () => JsonValue): ItemPrice | undefined {
    const { terms } = item
    if (terms === '') return undefined
    const price =
      terms === undefined
        ? this.#ofItem(item, readListing)
        : remembered(this.#byTerms, terms, () => this.#leading(parseJson(terms)))
    return price ?? undefined
  }

  #ofItem(item: Item, readListing: () => JsonValue): ItemPrice | null {
    const known = this.#byItem.get(item)
    if (known !== undefined) return known
    const price = this.#leading(readListing())
    this.#byItem.set(item, price)
    return price
  }

  #leading(listing: JsonValue): ItemPrice | null {
    let leading: Ranked | null = null
    for (const price of lowestPrices(listing, 'gpu', countedSizes(listing, '')).values()) {
      const ranked = this.#rank(price)
      if (leading === null || leads(ranked, leading)) leading = ranked
    }
    return leading === null ? null : priceJson(leading.price, leading.token)
  }

  #rank(price: LowestPrice): Ranked {
    const { chain, token: address, unit } = price.option
    const token = this.#tokens.find(chain, address)
    const kind = token === null ? 2 : token.testnet === true ? 1 : 0
    const place = token === null ? 0 : this.#places.get(token.symbol)!
    return { price, token, rank: [kind, unit === 'hour' ? 0 : 1, place] }
  }
}

type Ranked = { price: LowestPrice; token: Token | null; rank: readonly number[] }

/** Prices of one rank that do not compare keep the order of the listing. */
function leads({ rank, token, price }: Ranked, before: Ranked): boolean {
  const n = rank.findIndex((one, at) => one !== before.rank[at])
  if (n !== -1) return rank[n]! < before.rank[n]!
  if (token === null || before.token === null || price.option.unit !== before.price.option.unit) return false
  const amount = (key: PriceKey, { decimals }: Token): bigint => BigInt(key) * 10n ** BigInt(decimals)
  return amount(price.key, before.token) < amount(before.price.key, token)
}
