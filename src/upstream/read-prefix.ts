import { type Freshness, worstOf } from '../domain/freshness.ts'
import type { Explanation, Item, Page } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import { Exclusions } from '../filter-spec/exclusions.ts'
import { filterNameOf } from '../filter-spec/reserved.ts'
import { type FetchListings, queryParameters } from './fetch-listings.ts'
import { itemFilter } from './item-filter.ts'
import { listingKey } from './listing-key.ts'
import { type ListingPage, MAX_PAGE_ITEMS } from './listing-page.ts'
import { newestFirst } from './newest-first.ts'
import type { UpstreamItem } from './upstream-item.ts'

/** Smallest page, of more to come, that an upstream may make do with: it bounds the requests of one query. */
export const MIN_PAGE_ITEMS = 25

/** Most requests that are queued before another look at what has come: a total may be any number. */
export const MAX_PAGES_AHEAD = 64

/**
 * Reads an upstream from its newest listing until a page of matches is together: in pages of 200, the first one
 * alone, the rest at once, and none beyond what the upstream says it has. A criterion of a filter that is not sent has
 * it read whole, if it has no more than `scanLimit` listings without that filter.
 *
 * Its pages may be of different ages: the answer is as old as the oldest. `total` is what the upstream says less what
 * was excluded here; exact where everything was read.
 * @throws SourceError `bad_envelope` for pages that repeat or never end; `unsupported_filter` for more listings than
 * may be read to apply the filters that are not sent; `scan_limit` when so many fail what was sent that `scanLimit` of
 * them do not fill the page
 */
export const readPrefix = async (
  upstream: Pick<UpstreamOptions, 'name' | 'kind' | 'scanLimit'>,
  fetch: FetchListings,
  query: ListingQuery,
  signal: AbortSignal,
): Promise<Page> => {
  const lacking = lackingFilters(query)
  const wanted = lacking.length > 0 ? Number.POSITIVE_INFINITY : query.offset + query.limit
  const most = lacking.length > 0 ? upstream.scanLimit : Math.max(upstream.scanLimit, wanted)
  const harvest = new Harvest(upstream, query)
  while (harvest.matches < wanted && !harvest.isWhole) {
    if (harvest.read >= most) throw harvest.tooFar(most)
    const offsets = harvest.nextOffsets(wanted)
    const pages = await Promise.all(offsets.map((offset) => fetch(query, offset, signal)))
    for (const page of pages) harvest.add(page)
    if (lacking.length > 0 && harvest.total > most) throw harvest.unsupported(lacking)
  }
  return harvest.page()
}

/** Filters that the upstream does not apply: those of the criteria that are not among what is sent. */
export const lackingFilters = ({ criteria, filters }: ListingQuery): string[] => {
  const sent = new Set(filters.map(([parameter]) => filterNameOf(parameter)))
  return [...new Set(criteria.map(({ filter }) => filter.name))].filter((name) => !sent.has(name))
}

/** What has been read of an upstream so far. */
class Harvest {
  readonly #upstream: Pick<UpstreamOptions, 'name' | 'kind'>
  readonly #query: ListingQuery
  readonly #seen = new Set<string>()
  readonly #kept: Item[] = []
  readonly #exclusions: Exclusions | null
  readonly #isMatch: (item: UpstreamItem) => boolean
  #pageSize = MAX_PAGE_ITEMS
  #excluded = 0
  #invalid = 0
  readonly #freshness: Freshness[] = []
  /** Listings received, good or bad, wanted or not. */
  read = 0
  /** Listings to be had, as the upstream says. */
  total = Number.POSITIVE_INFINITY

  constructor(upstream: Pick<UpstreamOptions, 'name' | 'kind'>, query: ListingQuery) {
    this.#upstream = upstream
    this.#query = query
    this.#exclusions = query.explain ? new Exclusions(query.criteria) : null
    this.#isMatch = itemFilter(query, this.#exclusions)
  }

  get matches(): number {
    return this.#kept.length
  }

  get isWhole(): boolean {
    return this.read >= this.total
  }

  /** The first page alone, since only it tells how many there are. */
  nextOffsets(wanted: number): number[] {
    const end = Math.min(this.total, this.read + wanted - this.matches)
    const pages = this.read === 0 ? 1 : Math.ceil((end - this.read) / this.#pageSize)
    return Array.from(
      { length: Math.min(pages, MAX_PAGES_AHEAD) },
      (_, page) => this.read + page * this.#pageSize,
    )
  }

  add({ items, received, total, freshness }: ListingPage): void {
    if (received < Math.min(this.#pageSize, total - this.read)) this.#takeSmallerPage(received)
    const fresh = items.filter((item) => this.#isFirst(item))
    if (items.length > 0 && fresh.length === 0) throw this.#broken('repeats its pages')
    const matching = fresh.filter(this.#isMatch)
    this.#kept.push(...matching.map(({ item }) => item))
    this.#excluded += fresh.length - matching.length
    this.#invalid += received - items.length
    this.total = total
    this.read += received
    if (freshness !== undefined) this.#freshness.push(freshness)
  }

  /** An upstream may have smaller pages than it was asked for, but all of one size. */
  #takeSmallerPage(received: number): void {
    if (this.read > 0 || received < MIN_PAGE_ITEMS) throw this.#broken('sends less than it says it has')
    this.#pageSize = received
  }

  /** While its pages are read a Registry may change, and a listing may come by twice. */
  #isFirst(item: UpstreamItem): boolean {
    const before = this.#seen.size
    return this.#seen.add(listingKey(this.#upstream.kind, item)).size > before
  }

  page(): Page {
    const { offset, limit } = this.#query
    const told = this.total - this.#excluded - this.#invalid
    const sorted = this.#kept.sort(newestFirst)
    const behind = sorted.slice(offset + limit)
    return {
      items: sorted.slice(offset, offset + limit),
      ...(behind.length === 0 ? {} : { behind }),
      total: this.isWhole ? this.matches : Math.max(told, this.matches),
      ageSeconds: 0,
      stale: false,
      ...worstOf(this.#freshness),
      ...(this.#invalid === 0 ? {} : { invalid: this.#invalid }),
      ...(this.#exclusions === null ? {} : { explanation: this.#explain(this.#exclusions) }),
    }
  }

  #explain({ list: excluded }: Exclusions): Explanation {
    return { sent: queryParameters(this.#query).toString(), excluded }
  }

  unsupported(filters: readonly string[]): SourceError {
    const message = `${this.#upstream.name}: has no filter ${filters.join(', ')}, and ${this.total} listings are too many to read`
    return new SourceError('unsupported_filter', message, { filters })
  }

  tooFar(most: number): SourceError {
    if (this.#excluded === 0) return this.#broken(`of its first ${most} items too few are listings`)
    const filters = [...new Set(this.#query.criteria.map(({ filter }) => filter.name))]
    const message = `${this.#upstream.name}: does not apply what it was sent, and ${most} listings were not enough`
    return new SourceError('scan_limit', message, { filters })
  }

  #broken(what: string): SourceError {
    return new SourceError('bad_envelope', `${this.#upstream.name}: ${what}`)
  }
}
