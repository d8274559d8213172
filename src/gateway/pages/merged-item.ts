import type { ListingIdentity } from '../../domain/listing-identity.ts'
import { basisOf } from '../../domain/price/payment-option.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import type { ListingQuery } from '../../domain/query.ts'
import { remembered } from '../../domain/remembered.ts'
import type { Holding } from '../../domain/source/holding.ts'
import { type Item, MAX_VIA } from '../../domain/source/item.ts'
import { type JsonObject, sameJson } from '../../json/value.ts'
import type { Copy } from '../../listing-index/copy.ts'
import { documentOf } from '../../listing-index/document-reader.ts'
import type { Ranking } from '../../listing-index/ranking.ts'
import type { ItemPrice } from '../../wire/listing.ts'
import { nameIn } from '../ask.ts'
import type { Asked } from '../asking.ts'
import type { MarketSettings } from '../market-settings.ts'
import { qualifiedName } from '../sources.ts'
import { type Comparison, comparisonWith, itemPrice } from './item-price.ts'
import type { PriceBounds } from './price-bounds.ts'

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
  /** JSON members of `_meta`: what the listing means. */
  meaning: string
}

/** How an answer shows prices. */
export type Pricing = {
  bounds: PriceBounds
  /** Which price is shown; absent: that of the ceiling, or the one that leads. */
  comparison?: Comparison | undefined
}

/**
 * The price that was compared, else the one that leads, marked where it is too low to be meant.
 * @param comparison of prices; absent: the one that leads is named
 */
export function shownPrice(
  { tokens, vocabulary, itemPrices }: MarketSettings,
  item: Item,
  source: string,
  { comparison, outliersOf }: { comparison: Comparison | undefined } & Pick<PriceBounds, 'outliersOf'>,
): ItemPrice | undefined {
  const compared =
    comparison &&
    itemPrice(item, comparison, { tokens, sizesOf: (listing) => vocabulary.sizesOf(listing, source) })
  const price = compared ?? itemPrices.of(item).leading ?? undefined
  return price && markOutlier(price, outliersOf(item, source), tokens)
}

/** @param groups in which the listing's price is an outlier */
function markOutlier(price: ItemPrice, groups: readonly string[], tokens: TokenTable): ItemPrice {
  if (groups.length === 0) return price
  const basis = basisOf({ ...price, hasGpus: price.gpus !== null })
  return groups.includes(tokens.groupingOf('gpu')(basis)) ? { ...price, outlier: true } : price
}

/** The copies that a question shows, with what is known of the others. */
export function mergeCopies(
  settings: MarketSettings,
  asked: Asked,
  copies: readonly Copy[],
  pricing: Pricing,
): MergedItem[] {
  const { index, ranking } = settings
  const { scope, query, stale, unknown } = asked
  const known = knownInBetter(settings, asked, ({ coverage }) => coverage() === 'whole')
  const shown = { ...pricing, query }
  const items: MergedItem[] = []
  for (const copy of copies) {
    const group = index.groupOf(copy, scope, query.status)
    // It has changed since it was found.
    if (group === undefined) continue
    const registry = nameIn(asked, copy)
    const rank = ranking.ranks.get(registry)!
    const { notIn, disputed } = known(copy, rank)
    const verdict = {
      registry,
      isStale: stale.has(copy.source),
      otherCopies: group.otherCopies.length === 0 ? NONE : othersIn(asked, group.otherCopies),
      isConflict: group.isConflict,
      unchecked: unknown.length === 0 ? NONE : unknown.flatMap((one) => (one.rank < rank ? one.name : [])),
      notIn,
      disputed,
    }
    items.push(mergeItem(settings, copy, verdict, shown))
  }
  return items
}

/** A closed one of the own Registry competes with open ones, and is not named. */
function othersIn(asked: Asked, copies: readonly Copy[]): Verdict['otherCopies'] {
  const { status } = asked.query
  const named = status === null ? copies : copies.filter((copy) => copy.status === status)
  return named.map((copy) => ({ item: copy, registry: nameIn(asked, copy) }))
}

/** What better sources know of a listing's publisher; names by rank. */
type KnownPublisher = {
  /** Those known whole, which know the publisher and do not have the listing. */
  notIn: readonly string[]
  /** Those with another storefront of the publisher. */
  disputed: readonly string[]
}

/**
 * What better sources know of the publisher of a listing that none of them has, by rows that exist for the reader.
 * @param isWhole whether all listings of the source are known
 */
export function knownInBetter(
  { index, ranking }: MarketSettings,
  asked: Asked,
  isWhole: (source: Holding) => boolean,
): (item: ListingIdentity & Pick<Item, 'origin'>, rank: number) => KnownPublisher {
  const { scope, bySource } = asked
  const sellers = knownSellers(asked)
  return ({ publisher, storefrontUrl, origin }, rank) => {
    if (publisher === null || rank === 0) return NOTHING_KNOWN
    const known = remembered(sellers, publisher, () =>
      Array.from(index.sellersOf(publisher, scope), ([number, storefronts]) => {
        const source = bySource.get(number)!
        return { source, storefronts, rank: ranking.ranks.get(source.name)! }
      }).sort((a, b) => a.rank - b.rank),
    )
    const notIn: string[] = []
    const disputed: string[] = []
    for (const { source, storefronts, rank: better } of known) {
      if (better >= rank) break
      const { name, isGateway } = source
      // What a gateway leaves out is not missing there, nor is a listing of a gateway missed anywhere.
      if (origin === undefined && !isGateway && isWhole(source)) notIn.push(name)
      if (!storefronts.has(storefrontUrl)) disputed.push(name)
    }
    return { notIn, disputed }
  }
}

/** Sources that know a publisher, the best first, with the storefronts there. */
type KnownSellers = Map<
  string,
  readonly { source: Holding; storefronts: ReadonlySet<string | null>; rank: number }[]
>

/** By address. Questions of one scope share them until something changes. */
function knownSellers({ scope, version }: Pick<Asked, 'scope' | 'version'>): KnownSellers {
  const { ranking, sources, standing, via } = scope
  const of = JSON.stringify([version, sources.key, standing?.key, via])
  const before = latestSellers.get(ranking)
  if (before?.of === of) return before.sellers
  const sellers: KnownSellers = new Map()
  latestSellers.set(ranking, { of, sellers })
  return sellers
}

const latestSellers = new WeakMap<Ranking, { of: string; sellers: KnownSellers }>()

const NONE: readonly never[] = []
const NOTHING_KNOWN: KnownPublisher = { notIn: NONE, disputed: NONE }

/** What is known of a copy that no better source is known to have. */
type Verdict = KnownPublisher & {
  /** Its source. */
  registry: string
  isStale: boolean
  /** Copies of the listing in worse sources, by rank. */
  otherCopies: readonly { item: Item; registry: string }[]
  isConflict: boolean
  /** Better sources that could not be asked whether they have the listing, by rank. */
  unchecked: readonly string[]
}

/** With what it means, and what it costs. */
export function mergeItem(
  settings: MarketSettings,
  item: Item,
  { registry, isStale, otherCopies, isConflict, unchecked, notIn, disputed }: Verdict,
  { query, bounds, comparison }: Pricing & { query: Pick<ListingQuery, 'via' | 'priceLimit'> },
): MergedItem {
  const { origin } = item
  const { via = [], priceLimit } = query
  const { outliersOf } = bounds
  const compared = comparison ?? (priceLimit && comparisonWith(priceLimit))
  return {
    item,
    bytes: item.bytes,
    registry,
    alsoIn: otherCopies.length === 0 && origin === undefined ? NONE : alsoIn(item, registry, otherCopies),
    stale: isStale || origin?.stale === true,
    differs: origin?.differs === true || otherCopies.some((other) => hasOtherTerms(item, other.item)),
    conflict: isConflict,
    disputed: joined(disputed, registry, origin?.disputed),
    unchecked: joined(unchecked, registry, origin?.unchecked),
    notIn: joined(notIn, registry, origin?.notIn),
    label: settings.rules.labelOf(registry),
    price: shownPrice(settings, item, registry, { comparison: compared, outliersOf }),
    via: via.length > 1 ? [...(origin?.via ?? []), via.at(-1)!].slice(0, MAX_VIA) : undefined,
    meaning: item.meaning ?? settings.vocabulary.describe(documentOf(item.bytes), registry),
  }
}

function alsoIn(item: Item, registry: string, otherCopies: Verdict['otherCopies']): string[] {
  const source = qualifiedName(registry, item)
  const names = otherCopies.map((other) => qualifiedName(other.registry, other.item))
  return [...new Set(joined(NONE, registry, item.origin?.alsoIn).concat(names))].filter(
    (name) => name !== source,
  )
}

/** Names of sources in one member of an item. */
const MAX_NAMES = 100

/** With the names that a gateway has given; the best ones of many. */
function joined(
  names: readonly string[],
  registry: string,
  inner: readonly string[] | undefined,
): readonly string[] {
  const all = inner === undefined ? names : [...names, ...inner.map((name) => `${registry}/${name}`)]
  return all.length > MAX_NAMES ? all.slice(0, MAX_NAMES) : all
}

/** Whether two copies of a listing have different offers or escrows; so has an unreadable one. */
function hasOtherTerms(item: Item, other: Item): boolean {
  try {
    if (Buffer.compare(item.bytes, other.bytes) === 0) return false
    const [one, two] = [documentOf(item.bytes) as JsonObject, documentOf(other.bytes) as JsonObject]
    return (
      !sameJson(one.offer_resource, two.offer_resource) ||
      !sameJson(one.accepted_escrows, two.accepted_escrows)
    )
  } catch {
    return true
  }
}
