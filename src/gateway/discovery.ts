import type { Reader } from '../domain/api-key.ts'
import { type PriceTexts, parsePriceQuestion } from '../domain/price/price-parameters.ts'
import type { TokenTable } from '../domain/price/token.ts'
import { ALL_OPEN, type ListingQuery } from '../domain/query.ts'
import type { SourceStatus } from '../domain/source/source-status.ts'
import type { Trace } from '../domain/trace.ts'
import { EntrepotError } from '../errors.ts'
import { allowedValues } from '../filter-spec/allowed-values.ts'
import type { Filter, FilterDefinition } from '../filter-spec/filter.ts'
import { parseCriteria } from '../filter-spec/parameters.ts'
import { compilePath } from '../filter-spec/path.ts'
import type { JsonValue } from '../json/value.ts'
import type { FacetJson } from '../wire/facets.ts'
import type { SourceNote } from '../wire/source.ts'
import { renderItem } from './envelope.ts'
import { facetFields, type MergedFacets, type ReadFacets } from './facets.ts'
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
  market: (question: MarketQuestion, signal: AbortSignal) => Promise<Market>
  filters: (signal: AbortSignal, isCounted: boolean) => Promise<FoundFilters & { counted: Counted }>
  sources: (signal: AbortSignal) => Promise<Completeness>
}

/** `filters`: as in the query string of `GET /listings`. */
export type Question = Pick<ListingQuery, 'status' | 'publisher' | 'filters'> & {
  prices: PriceTexts
  /** `null`: all. */
  sources: readonly string[] | null
}

/** `by`: names of filters, or `registry`; `null`: the usual ones. */
type MarketQuestion = Question & { by: readonly string[] | null }

export type Market = Completeness & Pick<MergedFacets, 'total' | 'facets' | 'prices'>

export type Search = Question & {
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

export type KnownFilter = FilterDefinition & {
  /** Those that declare the filter, where not all do. */
  registries?: readonly string[]
  /** That the listing shape names. */
  allowed?: readonly string[] | undefined
  /** Of open listings; absent where they were not counted. */
  counts?: FacetJson | undefined
}

export type FoundFilters = Completeness & { filters: readonly KnownFilter[] }

/** Which sources' listings the counts are of. */
type Counted = 'all' | 'some' | 'none'

export function countedOf(market: Pick<Completeness, 'complete'> | null | undefined): Counted {
  if (!market) return 'none'
  return market.complete ? 'all' : 'some'
}

export type Federation = {
  gatewayId: string
  vocabulary: ReadVocabulary
  readPage: ReadPage
  readFacets: ReadFacets
  tokens: TokenTable
  find: FindListing
  sources: readonly { status: () => SourceStatus }[]
}

export function createDiscovery(gateway: Federation, reader: Reader, trace?: Trace): Discovery {
  // No gateway calls these tools, so no earlier gateway is in `via`.
  const path = { via: [gateway.gatewayId], trace }
  const visible = (): SourceStatus[] =>
    gateway.sources.map(({ status }) => status()).filter((status) => maySee(reader, status))
  return {
    search: async ({ cursor, sources: named, prices, ...search }, signal) => {
      const { sort, limit: priceLimit, ...compared } = parsePriceQuestion(gateway.tokens, prices)
      const vocabulary = await gateway.vocabulary(reader, within(signal), search.filters)
      const criteria = parseCriteria(vocabulary, search.filters)
      const query = { ...search, criteria, priceLimit, offset: 0, ...path }
      const options = { named, byPrice: sort === 'price' ? compared : undefined }
      const page = await gateway.readPage(query, cursor, { reader, signal, options })
      const { items, total, complete, sources, nextCursor } = page
      return { items: items.map((item) => renderItem(item).toString()), total, complete, sources, nextCursor }
    },
    find: async (listingId, source, signal) => {
      const named = source === null ? null : [source.split('/', 1)[0]!]
      const request = { reader, signal, options: { named } }
      const { merged, complete, sources } = await gateway.find({ listingId, ...path }, request)
      return { item: merged === null ? null : renderItem(merged).toString(), complete, sources }
    },
    market: async ({ by, sources: named, prices, ...question }, signal) => {
      const { per, limit: priceLimit } = parsePriceQuestion(gateway.tokens, prices, { countsPrices: true })
      const vocabulary = await gateway.vocabulary(reader, within(signal))
      const criteria = parseCriteria(vocabulary, question.filters)
      const fields = facetFields(by, vocabulary.filters)
      const query = { ...question, criteria, priceLimit, by: fields, per, ...path }
      const request = { reader, signal, options: { named } }
      const { outcomes: _, ...market } = await gateway.readFacets(query, request)
      return market
    },
    filters: async (signal, isCounted) => {
      const vocabulary = await gateway.vocabulary(reader, within(signal))
      const { filters: known, listing_shape: shape } = JSON.parse(vocabulary.body)
      const query = { ...ALL_OPEN, by: countedFilters(vocabulary.filters), per: 'gpu', ...path } as const
      const options = { budgetMs: COUNT_MS }
      const counts = isCounted
        ? await unlessRefused(gateway.readFacets(query, { reader, signal, options }))
        : null
      const filters = (known as KnownFilter[]).map((filter) => ({
        ...filter,
        allowed: filter.registries === undefined ? allowedOf(shape, filter.path) : undefined,
        counts: countsIn(counts?.facets, filter.name),
      }))
      const sources = visible().map(noteOnFilters)
      return {
        filters,
        sources,
        counted: countedOf(counts),
        complete: sources.every(({ state }) => state === 'loaded'),
      }
    },
    sources: async () => {
      const sources = visible().flatMap(notesOnHealth)
      return { sources, complete: sources.every(({ state }) => state === 'loaded' || state === 'stale') }
    },
  }
}

const MAX_COUNTED = 32
/** The filters do not wait long for their counts. */
const COUNT_MS = 2000

/** Filters by value, whose values are counted. */
export function countedFilters(filters: ReadonlyMap<string, Filter>): Filter[] {
  return [...filters.values()].filter(({ op }) => op === 'in').slice(0, MAX_COUNTED)
}

/** `undefined` where they were not counted. A filter may have the name of what every object inherits. */
export function countsIn(facets: Market['facets'] | undefined, filter: string): FacetJson | undefined {
  return facets !== undefined && Object.hasOwn(facets, filter) ? facets[filter] : undefined
}

/** `null` where sources cannot answer; the rest is answered without them. */
export function unlessRefused<T>(answer: Promise<T>): Promise<T | null> {
  return answer.catch((cause: unknown) => {
    if (cause instanceof EntrepotError) return null
    throw cause
  })
}

function allowedOf(shape: JsonValue, path: string): readonly string[] | undefined {
  const values = allowedValues(shape, compilePath(path))
  return values.length === 0 ? undefined : values
}

/** Longest wait for upstreams without a filter spec yet. */
const within = (caller: AbortSignal) => ({ ms: 4000, caller })

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
