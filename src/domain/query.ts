import type { Criterion } from '../filter-spec/criteria.ts'
import type { ListingStatus } from './listing.ts'
import type { Trace } from './trace.ts'

/** One reader's question, parsed and checked against the federated filter spec. */
export type ListingQuery = {
  /** `null` asks for every status. */
  status: ListingStatus | null
  /** Signing address, lower-cased; `null` asks for every publisher. */
  publisher: string | null
  /** AND-ed. */
  criteria: readonly Criterion[]
  /**
   * The filters that the source itself applies, as name and raw value. A criterion whose filter is not among them is
   * evaluated in the gateway, over everything that the others leave.
   */
  filters: readonly (readonly [name: string, value: string])[]
  /** Etag of the upstream's filter spec that `filters` were chosen by, sent as `If-Match`. */
  ifMatch?: string
  /** Asks for the one listing of that id, whatever its status, and for nothing else. */
  listingId?: string
  /** Whether `ReadingInfo.explanation` is wanted; absent means no. */
  explain?: boolean
  /** The reader's own `Cache-Control`; absent: cached Readings may be served. */
  caching?: Caching
  /**
   * Gateways that the question passed through, this one last: sent as `CDN-Loop` (RFC 8586). An upstream's answer may
   * depend on it, so it is part of the cache key. Absent for the gateway's own questions.
   */
  via?: readonly string[]
  /** Parent of the spans of this question. It changes no answer. */
  trace?: Trace
}

/** Request directives of RFC 9111 5.2.1. */
export type Caching = 'no-cache' | 'only-if-cached'

export const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 200

/** Everything open, which every Registry can answer. */
export const ALL_OPEN: ListingQuery = { status: 'open', publisher: null, criteria: [], filters: [] }

/** A question for one page of the merged sequence. */
export type PageQuery = ListingQuery & {
  /** 1 to 200 as a reader sends it. */
  limit: number
  offset: number
}
