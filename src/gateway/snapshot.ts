import type { Item, Page, Source } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { pathKey } from '../filter-spec/path-key.ts'
import { ListingIndex } from '../listing-index/listing-index.ts'
import { rowConditions } from '../listing-index/row-conditions.ts'
import { explained } from './explained.ts'
import { withOtherFilters } from './with-other-filters.ts'

/** Changes that are made in place, so all at once: about 15 ms of them. More are made in a copy, bit by bit. */
const MOST_IN_PLACE = 1000
/** Listings of one block of the index: most upstreams fit into one, with room for what changes. */
const BLOCK_SLOTS = 12_288
/** Listings indexed before others get their turn. */
const PORTION = 100

/** The open listings of one upstream in memory, ready to be filtered. Shown whole or not at all. */
export class Snapshot {
  /** Answers for what is open, as of now. A filter that it is not indexed by has its listings read one by one. */
  readonly ask: Source
  readonly #name: string
  readonly #paths: ReadonlySet<string>
  readonly #index: ListingIndex
  readonly #items = new Map<string, Item>()
  /** Keys of the listings of an id, where a key is more than that. */
  readonly #keys = new Map<string, Set<string>>()
  readonly #publishers = new Map<string, number>()
  /** Listings whose publisher is not known. */
  #unknown = 0

  /** @param filters by whose paths it is indexed */
  constructor(name: string, filters: readonly Filter[]) {
    this.#name = name
    this.#paths = new Set(filters.map(({ compiled }) => pathKey(compiled)))
    this.#index = new ListingIndex(filters, { blockSlots: BLOCK_SLOTS })
    this.ask = withOtherFilters(name, filters)(explained(async (query) => this.#page(query)))
  }

  /** By the key that they were put under. */
  get listings(): ReadonlyMap<string, Item> {
    return this.#items
  }

  /** Rises with every change. */
  get version(): number {
    return this.#index.version
  }

  /** Whether it is known of every listing who has published it. */
  get knowsPublishers(): boolean {
    return this.#unknown === 0
  }

  /**
   * Holds these listings and no others: this very snapshot, changed between two queries, or a new one where that would
   * take long or where it is to be indexed by other filters.
   */
  async with(listings: ReadonlyMap<string, Item>, filters: readonly Filter[]): Promise<Snapshot> {
    const gone = [...this.#items.keys()].filter((key) => !listings.has(key))
    const changed = [...listings].filter(([key, item]) => !isSame(item, this.#items.get(key)))
    const isIndexed = filters.every(({ compiled }) => this.#paths.has(pathKey(compiled)))
    if (isIndexed && gone.length + changed.length <= MOST_IN_PLACE) {
      for (const key of gone) this.#remove(key)
      for (const [key, item] of changed) this.#put(key, item)
      return this
    }
    const next = new Snapshot(this.#name, filters)
    for (const [key, item] of listings) {
      next.#put(key, item)
      if (next.#items.size % PORTION === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    return next
  }

  /** What matches a query, has that id and is not known; as it was put, whatever the query says about status. */
  find(listingId: string, known: readonly Item[], query: ListingQuery): readonly Item[] {
    const keys = this.#keys.size === 0 ? undefined : this.#keys.get(listingId)
    // Nearly always there is none, and this is asked a thousand times a page.
    if (keys === undefined && !this.#items.has(listingId)) return NONE
    const { criteria, publisher } = query
    return [...(keys ?? [listingId])].flatMap((key) => {
      const item = this.#items.get(key)
      if (item === undefined || known.includes(item)) return []
      const isPublishers = publisher === null || item.publisher === publisher
      return isPublishers && rowConditions(criteria).accept(item.bytes) ? [item] : []
    })
  }

  #page({ criteria, publisher, limit, offset, listingId }: ListingQuery): Page {
    const one = listingId === undefined ? undefined : this.#items.get(listingId)
    if (one !== undefined) return { items: [one], total: 1, ageSeconds: 0, stale: false }
    const publisherId = publisher === null ? null : this.#publishers.get(publisher)
    if (publisherId === undefined) return { items: [], total: 0, ageSeconds: 0, stale: false }
    const asked = { status: 'open', publisherId, criteria, limit, offset } as const
    const { listingIds: keys, total } = this.#index.ids(asked)
    const items = keys.map((key) => this.#items.get(key)!)
    return { items, total, ageSeconds: 0, stale: false }
  }

  #put(key: string, item: Item): void {
    if (this.#items.get(key)?.publisher === null) this.#unknown--
    if (item.publisher === null) this.#unknown++
    const publisherId = this.#publisherId(item.publisher ?? UNKNOWN)
    const { createdAt, bytes, listingId } = item
    if (key !== listingId) this.#keysOf(listingId).add(key)
    this.#index.put({ listingId: key, publisherId, status: 'open', createdAt, bytes })
    // The index has a copy of the bytes: what they came in need not be kept.
    this.#items.set(key, { ...item, bytes: this.#index.get(key)?.bytes ?? bytes })
  }

  #remove(key: string): void {
    const item = this.#items.get(key)
    if (item === undefined) return
    if (item.publisher === null) this.#unknown--
    const keys = this.#keys.get(item.listingId)
    if (keys?.delete(key) && keys.size === 0) this.#keys.delete(item.listingId)
    this.#index.remove(key)
    this.#items.delete(key)
  }

  #keysOf(listingId: string): Set<string> {
    const keys = this.#keys.get(listingId) ?? new Set()
    this.#keys.set(listingId, keys)
    return keys
  }

  #publisherId(publisher: string): number {
    const known = this.#publishers.get(publisher)
    if (known !== undefined) return known
    this.#publishers.set(publisher, this.#publishers.size)
    return this.#publishers.size - 1
  }
}

const NONE: readonly Item[] = []
/** No address: nobody asks for it. */
const UNKNOWN = ''

const isSame = (one: Item, other: Item | undefined): boolean =>
  other !== undefined &&
  one.publisher === other.publisher &&
  Buffer.compare(one.bytes, other.bytes) === 0 &&
  JSON.stringify(one.origin) === JSON.stringify(other.origin)
