import type { Criterion } from '../filter-spec/criteria.ts'
import type { ListingStatus } from './listing.ts'
import type { Trace } from './trace.ts'

/** One reader's question, parsed and checked against our own filter spec (`protocol.md` 1.7). */
export type ListingQuery = {
  /** `null` asks for every status. */
  status: ListingStatus | null
  /** Signing address, lower-cased; `null` asks for every publisher. */
  publisher: string | null
  /** AND-ed. */
  criteria: readonly Criterion[]
  /**
   * The filters that the source itself is to apply, as name and raw value: all that the reader sent, or what is left
   * of them. A criterion of a filter that is not among them is evaluated here, over all listings that are left.
   */
  filters: readonly (readonly [name: string, value: string])[]
  /** 1 to 200 as a reader sends it; the gateway asks its sources for longer prefixes. */
  limit: number
  offset: number
  /**
   * Etag of the source's own filter spec by which `filters` were chosen: one that has another answers 412. Never what
   * the reader sent, which is about our spec.
   */
  ifMatch?: string
  /** Asks for the one listing of that id, whatever its status, and for nothing else. */
  listingId?: string
  /**
   * `stretch`: no page of matches is wanted, only what comes from `offset` on in one request's worth, counted as the
   * source itself counts; so the cost of reading on does not grow with what lies before. Absent: a page.
   */
  reading?: 'stretch'
  /** Whether `Page.explanation` is wanted; absent means no. */
  explain?: boolean
  /** The reader's own `Cache-Control`; absent: what is kept may be given. */
  caching?: Caching
  /**
   * Gateways that the question has been through, this one last: sent on as `CDN-Loop` (RFC 8586). An upstream may
   * answer otherwise for it, so it is part of what is asked. Absent where the question is nobody's but our own.
   */
  via?: readonly string[]
  /** Where it stands in a trace. It changes no answer: who shares one's work stands in that one's trace. */
  trace?: Trace
}

/** Request directives of RFC 9111 5.2.1: ask anew, or do not ask at all. */
export type Caching = 'no-cache' | 'only-if-cached'

export const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 200
