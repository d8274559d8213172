import type { Criterion } from '../filter-spec/filter.ts'
import type { ListingStatus } from './listing.ts'
import type { PriceKey, PricePer, ScaleOf, SizesOf } from './price/price-key.ts'
import type { Token } from './price/token.ts'
import type { Trace } from './trace.ts'

/** Checked against the federated filter spec. */
export type ListingQuery = {
  /** `null`: every status. */
  status: ListingStatus | null
  /** Signing address, lower-cased; `null`: every publisher. */
  publisher: string | null
  /** AND-ed. */
  criteria: readonly Criterion[]
  /** Only listings with a price in one of the tokens that is at most this. Evaluated here, never by an upstream. */
  priceLimit?: PriceLimit | undefined
  /** Name and raw value of the filters as the reader wrote them: `criteria` are their meaning. */
  filters: readonly (readonly [name: string, value: string])[]
  /** Asks only for the listing of that id, whatever its status. */
  listingId?: string
  /** The reader's `Cache-Control`. */
  caching?: Caching | undefined
  /** Gateways passed, this one last (`CDN-Loop`, RFC 8586). */
  via?: readonly string[]
  /** So many of the newest matches are enough for the answer. Absent: all are needed. */
  newest?: number
  /** Parent of its spans. Changes no answer. */
  trace?: Trace | undefined
}

/**
 * Listings whose best copy does not match do not exist for the reader. It is AND-ed with the reader's own filters, and never
 * one of them: of two values of a name the last one counts there.
 */
export type StandingFilter = {
  criteria: readonly Criterion[]
  /** As in a query string, for upstreams that declare them. */
  filters: readonly (readonly [name: string, value: string])[]
  /** Differs where the meaning does; empty without criteria. */
  key: string
}

export const NO_FILTER: StandingFilter = { criteria: [], filters: [], key: '' }

/** What both keep. */
export function bothFilters(one: StandingFilter, other: StandingFilter): StandingFilter {
  if (one.criteria.length === 0) return other
  if (other.criteria.length === 0) return one
  return {
    criteria: [...one.criteria, ...other.criteria],
    filters: [...one.filters, ...other.filters],
    key: JSON.stringify([one.key, other.key]),
  }
}

export type PriceLimit = {
  tokens: readonly Token[]
  per: PricePer
  /** Of scaled keys. */
  max: PriceKey
  scaleOf?: ScaleOf | undefined
  /** Absent where only GPUs are counted. */
  sizesOf?: SizesOf | undefined
}

/** RFC 9111 5.2.1 */
export type Caching = 'no-cache' | 'only-if-cached'

export const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 200
/** Of a gateway's cursor: a request line has to hold it. */
export const MAX_CURSOR_LENGTH = 16_384

export const ANY_STATUS = { status: null, publisher: null, criteria: [], filters: [] }
export const ALL_OPEN: ListingQuery = { ...ANY_STATUS, status: 'open' }
