import type { Filter } from '../../filter-spec/filter.ts'
import type { PriceKey, PricePer } from '../price/price-key.ts'
import type { ListingQuery, PriceLimit } from '../query.ts'
import type { Micros } from '../timestamp.ts'
import type { Item, ReadingInfo } from './reading.ts'

/**
 * Groups of bases (`basisOf`) whose prices compare, in the order of the answer. A listing belongs to the first group
 * in which it has a price, at its lowest price there; listings without one come last, newest first.
 */
export type PriceOrder = {
  groups: readonly (readonly string[])[]
  per: PricePer
  /** Higher prices do not compare; `undefined`: all do. */
  max?: PriceKey | undefined
}

/** Ascending by `group` (their number for a listing without a price) and `key` (0 then); then newest first, then by id. */
export type PricePlace = { group: number; key: PriceKey; position: Micros; listingId: string }

export type PricedItem = { item: Item; place: PricePlace }

/** Of the matches with a price in one basis, each at its lowest. */
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
  /** By basis. */
  prices: ReadonlyMap<string, PriceCounts>
}

/** Reads what is in memory. Results of several calls in one turn of the event loop agree, but for facets. */
export type Matches = {
  /** Matches with a price in each basis of these tokens; with `null` in any, at least in those with most of them. */
  offers: (tokens: PriceLimit['tokens'] | null) => ReadonlyMap<string, number>
  /** Those behind `after`; with `null`, all. To be read within one turn of the event loop. */
  byPrice: (order: PriceOrder, after: PricePlace | null) => IteratorObject<PricedItem, void>
  /**
   * Of one moment. A field is the path of a filter. @throws SourceError `unsupported_filter`: a path has no index here, or
   * too many values
   */
  facets: (fields: readonly Filter[], per: PricePer) => Promise<Facets>
  /** In no order. */
  ids: () => Iterable<string>
  /** All matches of that id. */
  find: (listingId: string) => readonly Item[]
}

/** All matches of one source as of one moment. */
export type Selection = ReadingInfo & Matches

/** @throws SourceError, `scan_limit` where the source has too many listings to be read whole */
export type Select = (query: ListingQuery, signal: AbortSignal) => Promise<Selection>
