import type { ListingStatus } from '../domain/listing.ts'
import type { FilterDefinition } from '../filter-spec/filter.ts'
import type { SourceNote } from '../wire/source.ts'

/** Rejects with an `EntrepotError`: `bad_request`, `unavailable`, `timeout` or `source_incomplete`. */
export type Discovery = {
  search: (search: Search, signal: AbortSignal) => Promise<SearchResult>
  /** Any status. `source` as in an item's `_meta.registry`; `null`: all. */
  find: (listingId: string, source: string | null, signal: AbortSignal) => Promise<LookupResult>
  filters: (signal: AbortSignal) => Promise<FoundFilters>
  sources: (signal: AbortSignal) => Promise<Completeness>
}

export type Search = {
  /** `null`: every status. */
  status: ListingStatus | null
  /** Lower-cased; `null`: every publisher. */
  publisher: string | null
  /** As in the query string of `GET /listings`. */
  filters: readonly (readonly [name: string, value: string])[]
  /** `null`: all. */
  sources: readonly string[] | null
  /** 1 to 200. */
  limit: number
  cursor: string | null
}

/** `complete`: every source that could contribute has answered, fresh or stale. */
export type Completeness = { complete: boolean; sources: readonly SourceNote[] }

/** Items are JSON text: the original bytes, with `_meta` as the last member. */
export type SearchResult = Completeness & {
  items: readonly string[]
  /** Matches before paging. */
  total: number
  nextCursor?: string | undefined
}

/** `item` is `null` where every source answered that it has no such listing. */
type LookupResult = Completeness & { item: string | null }

/** `registries`: those that declare the filter, where not all do. */
export type KnownFilter = FilterDefinition & { registries?: readonly string[] }

type FoundFilters = Completeness & { filters: readonly KnownFilter[] }
