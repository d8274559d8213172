import type { Filter } from '../../filter-spec/filter.ts'
import type { PriceKey, PricePer, ScaleOf, SizesOf } from '../price/price-key.ts'
import type { ListingQuery, PriceLimit } from '../query.ts'
import type { OfferCount } from './offer-counts.ts'
import type { PricePosition } from './position.ts'
import type { Item, ReadingInfo } from './reading.ts'

/**
 * Groups of bases (`basisOf`) whose prices compare, in the order of the answer. A listing belongs to the first group
 * in which it has a price, at its lowest price there; listings without one come last, newest first.
 */
export type PriceOrder = {
  groups: readonly (readonly string[])[]
  per: PricePer
  /** Absent: keys compare as they are. */
  scaleOf?: ScaleOf | undefined
  /** Higher prices, of scaled keys, do not compare; `undefined`: all do. */
  max?: PriceKey | undefined
}

/** Without a price its group is the number of groups, and its key 0. */
export type PricedItem = { item: Item; place: PricePosition }

/** Of the matches with a price in one group, each at its lowest. */
export type PriceCounts = {
  offers: number
  /** GPUs of the offers that give a valid count. */
  gpus: number
  /** Ascending and different. */
  keys: readonly PriceKey[]
  /** Offers per key. */
  counts: readonly number[]
}

export type Facets = {
  /** Per field: listings per value, as text. A listing counts once per different value. */
  values: readonly ReadonlyMap<string, number>[]
  /** Per field: listings without a value. */
  missing: readonly number[]
  /** GPUs of the listings that count theirs. */
  gpus: number
  /** By group. */
  prices: ReadonlyMap<string, PriceCounts>
}

/** Which prices of a listing count as one, of which the lowest counts. Equal functions are the same one. */
export type PriceGrouping = {
  per: PricePer
  groupOf: (basis: string) => string
  scaleOf?: ScaleOf | undefined
  sizesOf: SizesOf
}

/** Reads what is in memory. Results of several calls in one turn of the event loop agree, but for facets. */
export type Matches = {
  /** Of each basis of these tokens; with `null` of any, at least of those with most offers. */
  offers: (tokens: PriceLimit['tokens'] | null) => ReadonlyMap<string, OfferCount>
  /** Those behind `after`; with `null`, all. To be read within one turn of the event loop. */
  byPrice: (order: PriceOrder, after: PricePosition | null) => IteratorObject<PricedItem, void>
  /**
   * Of one moment. A field is the path of a filter. @throws SourceError `unsupported_filter`: a path has no index here, or
   * too many values
   */
  facets: (fields: readonly Filter[], prices: PriceGrouping) => Promise<Facets>
  /** By `identityKey`; one for all listings without. */
  sellers: () => ReadonlySet<string>
  /** In no order. To be read within one turn of the event loop, or as what it was then. */
  items: () => Iterable<Item>
}

/** All matches of one source as of one moment. */
export type Selection = ReadingInfo & Matches

/** @throws SourceError */
export type Select = (query: ListingQuery, signal: AbortSignal) => Promise<Selection>
