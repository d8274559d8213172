import { MAX_LISTING_ID_LENGTH } from '../domain/listing.ts'
import type { ListingIdentity } from '../domain/listing-identity.ts'
import { type ListingQuery, NO_FILTER } from '../domain/query.ts'
import { isAfter, type Position, placeOf } from '../domain/source/position.ts'
import type { Item, Range, Reading } from '../domain/source/reading.ts'
import type { Matches } from '../domain/source/selection.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { inTurns } from '../domain/turns.ts'
import { matchesAll } from '../filter-spec/evaluate.ts'
import type { Criterion, Filter } from '../filter-spec/filter.ts'
import { pathKey } from '../filter-spec/path.ts'
import { documentOf } from './document-reader.ts'
import type { IndexMatches } from './index-matches.ts'
import { selectInTurns, selectItems, sellerOf } from './item-selection.ts'
import type { IndexRow } from './listing-index.ts'
import type { Place } from './segment.ts'

/** Most listings scanned for a filter without an index. */
export const MEMORY_SCAN_LIMIT = 10_000
/** Most values that are counted at once, of all fields: about 25 ms. */
const MAX_COUNTED_VALUES = 100_000

export type IndexedListings = {
  /** Newest first from `after` on, with the total of all; within the query's price limit. All criteria of `query` must be indexed. */
  page: (
    query: ListingQuery,
    page: { after: Place | null; limit: number; offset: number },
  ) => {
    items: readonly Item[]
    total: number
    /** Matches that are left out. */
    hidden?: number
  }
  /** All matches; `null` for none. All criteria of `query` must be indexed. */
  select: (query: ListingQuery) => IndexedMatches | null
  /** Listings of that id with the query's status and publisher; ignores its criteria and price limit. */
  find: (query: ListingQuery, listingId: string) => readonly Item[]
}

/** As in `ReadingInfo`. */
export type IndexCounts = { total: number; hidden?: number }

type IndexedMatches = {
  matches: IndexMatches
  itemOf: (row: IndexRow) => Item
  publisherOf: (publisherId: number) => ListingIdentity
}

export type IndexReading = Pick<Reading, 'listings' | 'hasMore' | 'total' | 'hidden'>

/** Evaluates criteria without an index on at most `MEMORY_SCAN_LIMIT` listings that match the others. */
export class IndexSource {
  readonly #name: string
  readonly #paths: ReadonlySet<string>
  /** Scan results of queries that are read in several ranges. */
  readonly #scans = new WeakMap<ListingQuery, Promise<readonly Item[]>>()

  constructor(name: string, indexed: Iterable<Filter>) {
    this.#name = name
    this.#paths = new Set(Array.from(indexed, ({ compiled }) => pathKey(compiled)))
  }

  async read(
    listings: IndexedListings,
    query: ListingQuery,
    { after, skip = 0, count }: Range,
  ): Promise<IndexReading> {
    if (query.listingId !== undefined) {
      const copies = findMatching(listings, query)(query.listingId)
      return { listings: copies, hasMore: false, total: copies.length }
    }
    const { indexed, unindexed, outside } = this.#split(query)
    const scanned = unindexed.length + outside.length === 0 ? null : await this.#scan(listings, query)
    const offset = after === null ? skip : 0
    const { items, total, hidden } =
      scanned === null
        ? listings.page(indexed, { after: placeBehind(after), limit: count + 1, offset })
        : {
            items: scanned.filter((item) => isAfter(placeOf(item), after)).slice(offset),
            total: scanned.length,
            hidden: undefined,
          }
    return { listings: items.slice(0, count), hasMore: items.length > count, total, hidden }
  }

  async select(listings: IndexedListings, query: ListingQuery): Promise<Matches & IndexCounts> {
    const { indexed, unindexed, outside } = this.#split(query)
    if (unindexed.length + outside.length === 0) {
      const selected = listings.select(indexed)
      return selected === null ? { ...selectItems(NONE), total: 0 } : this.#selectIndexed(selected)
    }
    const items = await this.#scan(listings, query)
    return { ...(await selectInTurns(items)), total: items.length }
  }

  #selectIndexed({ matches, itemOf, publisherOf }: IndexedMatches): Matches & IndexCounts {
    return {
      total: matches.total,
      hidden: matches.hidden,
      offers: (tokens) => matches.offers(tokens),
      byPrice: function* (order, after) {
        for (const { rows, slot, group, key } of matches.byPrice(order, after)) {
          const item = itemOf(rows.entry(slot))
          yield { item, place: { group, key, ...placeOf(item) } }
        }
      },
      facets: async (fields, per) => {
        const unindexed = fields.filter((filter) => !this.#isIndexed({ filter }))
        if (unindexed.length > 0) throw this.#withoutIndex(unindexed)
        if (matches.countDistinct(fields) > MAX_COUNTED_VALUES)
          throw this.#unsupported(fields, (names) => `more than ${MAX_COUNTED_VALUES} values of ${names}`)
        return inTurns(matches.facets(fields, per))
      },
      sellers: () => new Set(matches.publisherIds().map((id) => sellerOf(publisherOf(id)))),
      items: function* () {
        for (const row of matches.rows()) yield itemOf(row)
      },
    }
  }

  #isIndexed({ filter }: Pick<Criterion, 'filter'>): boolean {
    return this.#paths.has(pathKey(filter.compiled))
  }

  #indexed(criteria: readonly Criterion[]): readonly Criterion[] {
    return criteria.filter((criterion) => this.#isIndexed(criterion))
  }

  /** The query with what the index applies of it and of the view, and the other criteria of both. */
  #split(query: ListingQuery): {
    indexed: ListingQuery
    unindexed: readonly Criterion[]
    outside: readonly Criterion[]
  } {
    const { criteria, standing = NO_FILTER } = query
    const ofQuery = this.#indexed(criteria)
    const ofView = this.#indexed(standing.criteria)
    const isAll = ofQuery.length === criteria.length && ofView.length === standing.criteria.length
    if (isAll) return { indexed: query, unindexed: [], outside: [] }
    return {
      indexed: { ...query, criteria: ofQuery, standing: { ...standing, criteria: ofView } },
      unindexed: criteria.filter((one) => !this.#isIndexed(one)),
      outside: standing.criteria.filter((one) => !this.#isIndexed(one)),
    }
  }

  #scan(listings: IndexedListings, query: ListingQuery): Promise<readonly Item[]> {
    const earlier = this.#scans.get(query)
    if (earlier !== undefined) return earlier
    const scan = inTurns(this.#scanAll(listings, query))
    this.#scans.set(query, scan)
    return scan
  }

  *#scanAll(listings: IndexedListings, query: ListingQuery): Generator<void, readonly Item[]> {
    const { indexed, unindexed, outside } = this.#split(query)
    const all = listings.page(indexed, { after: null, limit: MEMORY_SCAN_LIMIT, offset: 0 })
    if (all.total > MEMORY_SCAN_LIMIT) throw this.#withoutIndex(unindexed.map(({ filter }) => filter))
    const criteria = [...outside, ...unindexed]
    const items: Item[] = []
    for (const item of all.items) {
      if (matchesAll(criteria, documentOf(item.bytes))) items.push(item)
      yield
    }
    return items
  }

  #withoutIndex(fields: readonly Filter[]): SourceError {
    return this.#unsupported(
      fields,
      (names) => `no filter ${names}, and more than ${MEMORY_SCAN_LIMIT} listings`,
    )
  }

  #unsupported(fields: readonly Filter[], lack: (names: string) => string): SourceError {
    const filters = [...new Set(fields.map(({ name }) => name))]
    const message = `${this.#name}: has ${lack(filters.join(', '))}`
    return new SourceError('unsupported_filter', message, { filters })
  }
}

function placeBehind(after: Position | null): Place | null {
  if (after === null) return null
  const { position, listingId } = after
  return { createdAt: position, listingId: listingId ?? LAST_ID }
}

const LAST_ID = '\uffff'.repeat(MAX_LISTING_ID_LENGTH + 1)

const NONE: readonly Item[] = []

function findMatching(
  listings: IndexedListings,
  query: ListingQuery,
): (listingId: string) => readonly Item[] {
  return (listingId) => {
    const copies = listings.find(query, listingId)
    // The usual case, a thousand times a page.
    if (copies.length === 0 || (query.criteria.length === 0 && query.priceLimit === undefined)) return copies
    const { criteria, priceLimit } = query
    const matching = copies.filter(({ bytes }) => matchesAll(criteria, documentOf(bytes), priceLimit))
    return matching.length === 0 ? NONE : matching
  }
}
