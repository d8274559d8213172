import type { CacheDecision } from './freshness.ts'
import type { MissingSource } from './missing-source.ts'
import type { ListingQuery } from './query.ts'
import type { SourceReason } from './source-reason.ts'
import type { SourceDetails } from './source-status.ts'
import type { Micros } from './timestamp.ts'

/** One copy of a listing on its way to a reader. */
export type Item = {
  /**
   * The listing's JSON object exactly as its Registry served it, less any `_meta` member. UTF-8.
   * @throws SyntaxError for a copy of an upstream that turns out to be unreadable
   */
  readonly bytes: Uint8Array
  listingId: string
  createdAt: Micros
  /** Where its source orders it: `createdAt`, or what a gateway states in `_meta.position`. */
  position: Micros
  storefrontUrl: string | null
  /** The publisher's signing address, lower-cased, where it is known. */
  publisher: string | null
  /** What a gateway states about a listing of another Registry; absent for a Registry's own. */
  origin?: Origin
  /** Its offset in the source when it was read; absent for a source in memory. */
  offset?: number
  /** The cursor of the page that it came with; absent outside of a gateway's later pages. */
  resume?: string | undefined
}

/** The `_meta` of a gateway's item. Names are the gateway's own, such as `curated`. */
export type Origin = {
  registry: string
  alsoIn: readonly string[]
  disputed?: readonly string[]
  stale: boolean
  differs: boolean
}

/** The order within one source: `position` descending, then `listingId` ascending. */
type SortKey = { position: Micros; listingId: string }

/** Which listings of a source are wanted. */
export type Range = {
  /** Only listings behind this key; a `null` id excludes every listing of that instant. `null`: no bound. */
  after: { position: Micros; listingId: string | null } | null
  /** Probable number of listings before the range; exact where `after` is `null`. */
  offsetHint: number
  /** A gateway's cursor of a page that begins at or before the range. */
  resume?: string | undefined
  /** Listings wanted; `Infinity` for all. */
  count: number
}

/** Listings that one filter excluded: by the value of their field, and because the field is missing. */
export type Exclusion = { filter: string; byValue: number; missing: number }

/** How a source answered, for `explain=true`. */
export type Explanation = {
  /** The query string that was sent, without paging; absent for a source in memory. */
  sent?: string
  /** Per criterion, what the gateway excluded; a listing that fails two counts in both. */
  excluded: readonly Exclusion[]
}

/** What is known of a Reading besides its listings. */
export type ReadingInfo = {
  /** Matches that the source reports, less those that the gateway excluded. */
  total: number
  /** When its first page was requested, in ms since the Unix epoch: its age counts from here. */
  asOf: number
  /** `true` when it replaces an answer that failed. */
  stale: boolean
  /** Why that answer failed; only where `stale`. */
  reason?: SourceReason
  /** Absent for a source without a cache. */
  cache?: CacheDecision
  /** Whether it may be served again without asking the source; absent means no. `now`: ms since the epoch. */
  isCurrent?: (now?: number) => boolean
  /** Unreadable items that were dropped; absent means none. */
  invalid?: number
  /** Sources that a gateway reports as missing from its own answer; absent means none. */
  missing?: readonly MissingSource[]
  /** Only where the query asks to `explain`. */
  explanation?: Explanation
}

/** A contiguous run of one source's answer to one query, newest first, from the beginning of the range. */
export type Reading = ReadingInfo & {
  /** In the source's order (`SortKey`), `count` of them or more, fewer only where the source has no more. */
  listings: readonly Item[]
  /** Whether the source has matches behind the last of `listings`. */
  hasMore: boolean
  /** Every match of that id, wherever it is; absent where the source was not read whole. */
  find?: (listingId: string) => readonly Item[]
}

/**
 * A place that answers listing queries: the local Registry, or one upstream.
 * Rejects with a `SourceError` when it cannot answer.
 */
export type Source = (query: ListingQuery, range: Range, signal: AbortSignal) => Promise<Reading>

export type SourceMode = 'local' | 'live' | 'snapshot'

export type Visibility = 'public' | 'private'

/** A source with what the merge and the reader need to know of it. */
export type NamedSource = {
  /** Shown to readers: `local`, or the upstream's configured name. */
  name: string
  visibility: Visibility
  mode: SourceMode
  /** The lowest number wins when two sources carry the same listing. */
  priority: number
  read: Source
  /** State of its circuit breaker; absent for a source without one. */
  breaker?: () => SourceDetails['breaker']['state']
  /**
   * Where this source's publishers have the storefront of a signing address; `undefined` where it knows no such
   * publisher. Absent for a source that never knows.
   */
  storefrontOf?: (publisher: string) => string | null | undefined
  /** Whether one listing may come twice: a gateway's pages by cursor repeat one whose copies are far apart. */
  mayRepeat?: boolean
}

/** Negative when `a` comes first. */
export function compareSortKeys(a: SortKey, b: SortKey): number {
  return b.position - a.position || (a.listingId < b.listingId ? -1 : a.listingId > b.listingId ? 1 : 0)
}

/** Whether a listing is in the range that begins behind `after`. */
export function isAfter({ position, listingId }: SortKey, after: Range['after']): boolean {
  if (after === null || position < after.position) return true
  return position === after.position && after.listingId !== null && listingId > after.listingId
}

/** Every match, from the newest on. */
export const WHOLE: Range = { after: null, offsetHint: 0, count: Number.POSITIVE_INFINITY }
