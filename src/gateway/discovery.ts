import type { ListingStatus } from '../domain/listing.ts'
import type { FilterDefinition } from '../filter-spec/filter.ts'

/**
 * The market as somebody may discover it who cannot look at it twice: every answer says whether it is all there is.
 * The gateway is one for each reader, and so are the Registries that a buyer has configured. Rejects with an
 * `EntrepotError`: `bad_request` for what cannot be asked, `unavailable`, `timeout` or `source_incomplete`, with
 * `sources` among its members, where nothing is known.
 */
export type Discovery = {
  search: (search: Search, signal: AbortSignal) => Promise<FoundListings>
  /** Any status. `source` as in an item's `_meta.registry`, or `null` for all. */
  find: (listingId: string, source: string | null, signal: AbortSignal) => Promise<FoundListing>
  filters: (signal: AbortSignal) => Promise<FoundFilters>
  sources: (signal: AbortSignal) => Promise<Completeness>
}

export type Search = {
  /** `null` asks for every status. */
  status: ListingStatus | null
  /** Signing address, lower-cased; `null` asks for every publisher. */
  publisher: string | null
  /** As in the query string of `GET /listings`. */
  filters: readonly (readonly [name: string, value: string])[]
  /** Only these; `null` asks all. */
  sources: readonly string[] | null
  /** 1 to 200. */
  limit: number
  /** `nextCursor` of the page before; `null` begins. */
  cursor: string | null
}

/** `complete`: every source that could have had a part in the answer has answered, fresh or stale. */
export type Completeness = { complete: boolean; sources: readonly SourceNote[] }

/** What a source had to do with an answer: at least how it is, and why where it is not well. */
export type SourceNote = {
  registry: string
  /** As in `GET /listings` and `GET /sources`. */
  state: string
  reason?: string
  [member: string]: unknown
}

/** Items are JSON text: the bytes of the listing's Registry, with `_meta` as the last member. */
export type FoundListings = Completeness & {
  items: readonly string[]
  /** Matches before paging. */
  total: number
  nextCursor?: string | undefined
}

/** `item` is `null` where every source said that it has no such listing. */
export type FoundListing = Completeness & { item: string | null }

/** `registries`: the only ones that declare it, where not all do. */
export type KnownFilter = FilterDefinition & { registries?: readonly string[] }

type FoundFilters = Completeness & { filters: readonly KnownFilter[] }
