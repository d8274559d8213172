import type { ListingQuery } from '../query.ts'
import type { Micros } from '../timestamp.ts'
import type { CacheDecision } from './freshness.ts'
import type { MissingSource } from './missing-source.ts'
import type { SourceReason } from './source-reason.ts'

export type Item = {
  /** As its Registry served it, without `_meta`. UTF-8. @throws SyntaxError for an unreadable copy */
  readonly bytes: Uint8Array
  listingId: string
  createdAt: Micros
  /** Orders it in its source: `createdAt`, or a gateway's `_meta.position`. */
  position: Micros
  storefrontUrl: string | null
  /** Signing address, lower-cased, where it is known. */
  publisher: string | null
  origin?: Origin
  /** Offset in the source when it was read; absent for a source in memory. */
  offset?: number
  /** Cursor of its page; only for a gateway's later pages. */
  resume?: string | undefined
}

/** The `_meta` of a gateway's item, with the gateway's names. */
export type Origin = {
  registry: string
  alsoIn: readonly string[]
  disputed?: readonly string[]
  stale: boolean
  differs: boolean
}

/** Order within a source: `position` descending, then `listingId` ascending. */
type SortKey = { position: Micros; listingId: string }

export type Range = {
  /** Exclusive start; a `null` id skips every listing of that instant. `null`: from the first. */
  after: { position: Micros; listingId: string | null } | null
  /** Estimated listings before the range; exact where `after` is `null`. */
  offsetHint: number
  /** A gateway's cursor of a page that begins at or before the range. */
  resume?: string | undefined
  /** `Infinity` for all. */
  count: number
}

export type Exclusion = { filter: string; byValue: number; missing: number }

export type Explanation = {
  /** The query string that was sent, without paging; absent for a source in memory. */
  sent?: string | undefined
  /** Per criterion; a listing that fails two counts in both. */
  excluded: readonly Exclusion[]
}

export type ReadingInfo = {
  /** Matches that the source reports, less those that the gateway excluded. */
  total: number
  /** When its first page was requested, in ms since the Unix epoch; its age counts from here. */
  asOf: number
  stale: boolean
  reason?: SourceReason | undefined
  cache?: CacheDecision | undefined
  /** Whether it may be served again without a request; absent means no. `now`: ms since the epoch. */
  isCurrent?: ((now?: number) => boolean) | undefined
  /** Unreadable items that were dropped. */
  invalid?: number | undefined
  /** Sources that a gateway reports as missing from its answer. */
  missing?: readonly MissingSource[] | undefined
  explanation?: Explanation | undefined
}

/** A contiguous run of one source's answer, newest first, from the start of the range. */
export type Reading = ReadingInfo & {
  /** Ordered by `SortKey`; at least `count`, fewer only at the source's end. */
  listings: readonly Item[]
  hasMore: boolean
  /** All matches of that id; absent where the source was not read completely. */
  find?: (listingId: string) => readonly Item[]
}

/** The local Registry or one upstream. @throws SourceError */
export type Source = (query: ListingQuery, range: Range, signal: AbortSignal) => Promise<Reading>

export type SourceMode = 'local' | 'live' | 'snapshot'

export type Visibility = 'public' | 'private'

export function compareSortKeys(a: SortKey, b: SortKey): number {
  return b.position - a.position || (a.listingId < b.listingId ? -1 : a.listingId > b.listingId ? 1 : 0)
}

export function isAfter({ position, listingId }: SortKey, after: Range['after']): boolean {
  if (after === null || position < after.position) return true
  return position === after.position && after.listingId !== null && listingId > after.listingId
}

/** An id so close that hardly another one is between. */
export function justBefore(listingId: string): string {
  const last = listingId.charCodeAt(listingId.length - 1)
  const start = listingId.slice(0, -1)
  return last > 0 ? `${start}${String.fromCharCode(last - 1)}\uffff` : start
}

export const FULL_RANGE: Range = { after: null, offsetHint: 0, count: Number.POSITIVE_INFINITY }
