import { basisOf } from '../domain/price/payment-option.ts'
import type { TokenTable } from '../domain/price/token.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { type Item, MAX_VIA } from '../domain/source/reading.ts'
import { type JsonObject, type JsonValue, parseObject, sameJson } from '../json/value.ts'
import type { Vocabulary } from '../vocabulary/vocabulary.ts'
import type { ItemPrice } from '../wire/listing.ts'
import { type Comparison, itemPrice } from './by-price/item-price.ts'
import type { ItemPrices } from './by-price/item-prices.ts'
import type { PriceBounds } from './by-price/price-bounds.ts'
import type { Verdict } from './deciders.ts'

export type MergedItem = {
  item: Item
  /** Without `_meta`. */
  bytes: Uint8Array
  /** Readers see `qualifiedName`. */
  registry: string
  /** By priority. */
  alsoIn: readonly string[]
  stale: boolean
  /** Whether the copies' offers or escrows differ. */
  differs: boolean
  /** Whether another publisher has a listing of the same id. */
  conflict: boolean
  /** Better sources with another storefront of the publisher. */
  disputed: readonly string[]
  /** Better sources that could not be asked whether they have the listing. */
  unchecked: readonly string[]
  /** Better sources that know the publisher and do not have the listing. */
  notIn: readonly string[]
  /** The operator's, of its source. */
  label?: string | undefined
  /** Of the answer for this id; absent in lists, where each source has one age. */
  ageSeconds?: number | undefined
  price?: ItemPrice | undefined
  /** Ids of the gateways that it came through, this one included; only for a gateway, which leaves out what came through itself. */
  via?: readonly string[] | undefined
  /** JSON members of `_meta`: what the listing means. Absent where the item of its source has it. */
  meaning?: string
}

/** With what it means, and what it costs. */
export function describeItem(
  merged: MergedItem,
  { bounds, via: asked = [], ...settings }: Described,
  comparison?: Comparison,
): MergedItem {
  const { item, registry } = merged
  const via = asked.length > 1 ? [...(item.origin?.via ?? []), asked.at(-1)!].slice(0, MAX_VIA) : undefined
  const price = shownPrice(item, registry, comparison, { ...settings, outliersOf: bounds.outliersOf })
  if (item.meaning !== undefined) return { ...merged, price, via }
  return {
    ...merged,
    price,
    via,
    meaning: settings.vocabulary.describe(item, () => readListing(item), registry),
  }
}

export type Described = {
  vocabulary: Vocabulary
  itemPrices: ItemPrices
  tokens: TokenTable
  bounds: PriceBounds
  /** The gateways that the query has passed, this one last. */
  via?: readonly string[] | undefined
}

/**
 * The price that was compared, else the one that leads, marked where it is too low to be meant.
 * @param comparison of prices; absent: the one that leads is named
 */
export function shownPrice(
  item: Item,
  source: string,
  comparison: Comparison | undefined,
  { tokens, vocabulary, itemPrices, outliersOf }: Omit<Described, 'bounds'> & Pick<PriceBounds, 'outliersOf'>,
): ItemPrice | undefined {
  const sizesOf = (listing: JsonValue) => vocabulary.sizesOf(listing, source)
  const compared = comparison && itemPrice(item, comparison, { tokens, sizesOf })
  const price = compared ?? itemPrices.of(item, () => readListing(item)).leading ?? undefined
  return price && markOutlier(price, outliersOf(item, source), tokens)
}

/** @param groups in which the listing's price is an outlier */
function markOutlier(price: ItemPrice, groups: readonly string[], tokens: TokenTable): ItemPrice {
  if (groups.length === 0) return price
  const basis = basisOf({ ...price, hasGpus: price.gpus !== null })
  return groups.includes(tokens.groupingOf('gpu')(basis)) ? { ...price, outlier: true } : price
}

type MergedIn = {
  ranked: readonly NamedSource[]
  rank: number
  isStale: boolean
}

/** A readable copy that no better source is known to have, with what is known of the others. */
export function mergeItem(
  item: Item,
  { ranked, rank, isStale }: MergedIn,
  { otherCopies, isConflict, unchecked, notIn, disputed }: Verdict,
): MergedItem {
  const { origin } = item
  const { name: registry, label } = ranked[rank]!
  return {
    item,
    bytes: item.bytes,
    registry,
    alsoIn:
      otherCopies.length === 0 && origin === undefined
        ? NONE
        : alsoIn(item, registry, { ranked, otherCopies }),
    stale: isStale || origin?.stale === true,
    differs: origin?.differs === true || otherCopies.some((other) => hasOtherTerms(item, other.item)),
    conflict: isConflict,
    disputed: joined(disputed, registry, origin?.disputed),
    unchecked: joined(unchecked, registry, origin?.unchecked),
    notIn: joined(notIn, registry, origin?.notIn),
    label,
  }
}

function alsoIn(
  item: Item,
  registry: string,
  { ranked, otherCopies }: Pick<MergedIn, 'ranked'> & Pick<Verdict, 'otherCopies'>,
): string[] {
  const source = qualifiedName(registry, item)
  const names = otherCopies.map((other) => qualifiedName(ranked[other.rank]!.name, other.item))
  return [...new Set(joined(NONE, registry, item.origin?.alsoIn).concat(names))].filter(
    (name) => name !== source,
  )
}

/** With the names that a gateway has given. */
function joined(
  names: readonly string[],
  registry: string,
  inner: readonly string[] | undefined,
): readonly string[] {
  return inner === undefined ? names : [...names, ...inner.map((name) => `${registry}/${name}`)]
}

const NONE: readonly never[] = []

/** Whether two copies of a listing have different offers or escrows; so has an unreadable one. */
function hasOtherTerms(item: Item, other: Item): boolean {
  try {
    if (Buffer.compare(item.bytes, other.bytes) === 0) return false
    const [one, two] = [readListing(item), readListing(other)]
    return (
      !sameJson(one.offer_resource, two.offer_resource) ||
      !sameJson(one.accepted_escrows, two.accepted_escrows)
    )
  } catch {
    return true
  }
}

export function readListing({ bytes }: Item): JsonObject {
  return parseObject(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
}

/** `eu/curated` for a copy from the gateway `eu`. */
export function qualifiedName(source: string, { origin }: Pick<Item, 'origin'>): string {
  return origin === undefined ? source : `${source}/${origin.registry}`
}
