import type { Reader } from '../domain/api-key.ts'
import type { ListingStatus } from '../domain/listing.ts'
import type { SourceStatus } from '../domain/source/source-status.ts'
import type { Trace } from '../domain/trace.ts'
import type { FilterDefinition } from '../filter-spec/filter.ts'
import { parseCriteria } from '../filter-spec/parameters.ts'
import type { SourceNote } from '../wire/source.ts'
import { renderItem } from './envelope.ts'
import type { FindListing } from './find-listing.ts'
import type { ReadPage } from './pages.ts'
import { reportStatus } from './source-report.ts'
import { maySee } from './sources.ts'
import type { ReadVocabulary } from './vocabulary.ts'

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

export type Federation = {
  gatewayId: string
  vocabulary: ReadVocabulary
  readPage: ReadPage
  find: FindListing
  sources: readonly { status: () => SourceStatus }[]
}

export function createDiscovery(gateway: Federation, reader: Reader, trace?: Trace): Discovery {
  // No gateway calls these tools, so no earlier gateway is in `via`.
  const path = { via: [gateway.gatewayId], trace }
  const visible = (): SourceStatus[] =>
    gateway.sources.map(({ status }) => status()).filter((status) => maySee(reader, status))
  return {
    search: async ({ cursor, sources: named, ...search }, signal) => {
      const vocabulary = await gateway.vocabulary(reader, within(signal), search.filters)
      const query = { ...search, criteria: parseCriteria(vocabulary, search.filters), offset: 0, ...path }
      const options = { named }
      const page = await gateway.readPage(query, cursor, { reader, signal, options })
      const { items, total, complete, sources, nextCursor } = page
      return { items: items.map((item) => renderItem(item).toString()), total, complete, sources, nextCursor }
    },
    find: async (listingId, source, signal) => {
      const named = source === null ? null : [source.split('/', 1)[0]!]
      const query = { ...ONE, listingId, ...path }
      const { merged, complete, sources } = await gateway.find(query, { reader, signal, options: { named } })
      return { item: merged === null ? null : renderItem(merged).toString(), complete, sources }
    },
    filters: async (signal) => {
      const { body } = await gateway.vocabulary(reader, within(signal))
      const { filters } = JSON.parse(body) as { filters: KnownFilter[] }
      const sources = visible().map(noteOnFilters)
      return { filters, sources, complete: sources.every(({ state }) => state === 'loaded') }
    },
    sources: async () => {
      const sources = visible().flatMap(notesOnHealth)
      return { sources, complete: sources.every(({ state }) => state === 'loaded' || state === 'stale') }
    },
  }
}

/** Longest wait for upstreams without a filter spec yet. */
const within = (caller: AbortSignal) => ({ ms: 4000, caller })

const ONE = { status: null, publisher: null, criteria: [], filters: [] }

function notesOnHealth(status: SourceStatus): SourceNote[] {
  const { filters: _, gaps = [], ...report } = reportStatus(status)
  const { state, last_error: error } = report
  return [{ ...report, reason: state === 'loaded' ? undefined : error?.reason }, ...gaps]
}

function noteOnFilters({ name, filters, lastError }: SourceStatus): SourceNote {
  return filters === null
    ? { registry: name, state: 'unavailable', reason: lastError?.reason }
    : { registry: name, state: 'loaded' }
}
