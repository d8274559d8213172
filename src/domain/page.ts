import type { CacheDecision } from './freshness.ts'
import type { Gap } from './gap.ts'
import type { ListingQuery } from './query.ts'
import type { SourceReason } from './source-error.ts'
import type { SourceDetails } from './source-status.ts'
import type { Micros } from './timestamp.ts'

/** One listing on its way to a reader. */
export type Item = {
  /** The listing's JSON object exactly as its Registry served it, less any `_meta` member. UTF-8. */
  bytes: Uint8Array
  listingId: string
  createdAt: Micros
  storefrontUrl: string | null
  /** The publisher's signing address, lower-cased, where it is known. */
  publisher: string | null
  /** What a gateway says of a listing that it got from elsewhere; absent for a Registry's own. */
  origin?: Origin
}

/** Where a gateway has a listing from: the `_meta` of its item. Names are its own, such as `curated`. */
export type Origin = {
  registry: string
  alsoIn: readonly string[]
  stale: boolean
  differs: boolean
}

/** Listings that a filter kept out of an answer: by their value, and for lack of one. */
export type Exclusion = { filter: string; byValue: number; missing: number }

/** How a source came to its answer. */
export type Explanation = {
  /** The query string that was sent, without paging; absent for a source that is asked in memory. */
  sent?: string
  /**
   * What each criterion kept out, of all that was looked at here; a listing that fails two counts in both. What a
   * source left out itself is not known here.
   */
  excluded: readonly Exclusion[]
}

/** What was read of a source in one go, matching or not. */
export type Stretch = {
  /** Listings passed. */
  passed: number
  /** The first of them; `null` where none could be read. */
  first: Pick<Item, 'createdAt' | 'listingId'> | null
  /** `created_at` of the oldest. */
  oldest: Micros | null
  isLast: boolean
}

/** What one source says to one query. */
export type Page = {
  /** Newest first: `created_at` descending, then `listing_id`. */
  items: readonly Item[]
  /** Matches that came along and lie behind the page: they tell what else is a copy of what. Absent means none. */
  behind?: readonly Item[]
  /**
   * Matches of that id wherever they lie, less some that are known, of a source that is known whole. Absent: what came
   * along is all there is.
   */
  find?: (listingId: string, known: readonly Item[]) => readonly Item[]
  /** Matches before paging. */
  total: number
  /** Seconds since the source said so; 0 for the local Registry. */
  ageSeconds: number
  /** `true` when it is shown in place of an answer that could not be had. */
  stale: boolean
  /** Where `stale`: why that could not be had. */
  reason?: SourceReason
  /** How the cache came by it; absent for a source without one. */
  cache?: CacheDecision
  /** Whether it may be given again without asking; absent means no. `now`: as in `Freshness`. */
  isCurrent?: (now?: number) => boolean
  /** Items that were no listings and were dropped; absent means none. */
  invalid?: number
  /** Where the source is a gateway that says that its answer is not complete: what it names as missing, if anything. */
  gaps?: readonly Gap[]
  /** Where a `stretch` was asked for and is not told by the items themselves. */
  stretch?: Stretch
  /** Where the query asks to `explain`. */
  explanation?: Explanation
}

/**
 * A place that answers listing queries. Everything in the gateway is one of these, or wraps one.
 * Rejects with a `SourceError` when it cannot answer, and soon after `signal` aborts.
 */
export type Source = (query: ListingQuery, signal: AbortSignal) => Promise<Page>

/** How a source comes by its answers. Only a `live` one has to fetch every item that lies before a page. */
export type SourceMode = 'local' | 'live' | 'snapshot'

export type Visibility = 'public' | 'private'

/** A source with what the merge and the reader need to know of it. */
export type NamedSource = {
  /** Shown to readers: `local`, or the upstream's configured name. */
  name: string
  visibility: Visibility
  mode: SourceMode
  /** Lower wins when two sources carry the same listing. */
  priority: number
  ask: Source
  /** State of its circuit breaker; absent for a source without one. */
  breaker?: () => SourceDetails['breaker']['state']
}
