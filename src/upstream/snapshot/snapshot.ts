import type { ListingQuery } from '../../domain/query.ts'
import type { Item, Range } from '../../domain/source/reading.ts'
import type { Matches } from '../../domain/source/selection.ts'
import type { Filter } from '../../filter-spec/filter.ts'
import { pathKey } from '../../filter-spec/path.ts'
import { type IndexedListings, type IndexReading, IndexSource } from '../../listing-index/index-source.ts'
import { type IndexEntry, ListingIndex } from '../../listing-index/listing-index.ts'

/** In about 15 ms. More changes are made in a copy, in steps. */
const MOST_IN_PLACE = 1000
/** Listings per turn of the event loop: about a ms. */
const PORTION = 1000
/** Besides its bytes: index row, item, map entries. */
const LISTING_HEAP_BYTES = 900

export class Snapshot {
  readonly #name: string
  readonly #paths: ReadonlySet<string>
  readonly #index: ListingIndex
  readonly #source: IndexSource
  readonly #items = new Map<string, Item>()
  /** By listing id, for keys that are not the id itself. */
  readonly #keys = new Map<string, Set<string>>()
  readonly #publishers = new Map<string, number>()
  #unknown = 0
  #bytes = 0

  /** @param filters their paths are indexed */
  constructor(name: string, filters: readonly Filter[]) {
    this.#name = name
    this.#paths = new Set(filters.map(({ compiled }) => pathKey(compiled)))
    this.#index = new ListingIndex(filters)
    this.#source = new IndexSource(name, filters)
  }

  get listings(): ReadonlyMap<string, Item> {
    return this.#items
  }

  get version(): number {
    return this.#index.version
  }

  get knowsPublishers(): boolean {
    return this.#unknown === 0
  }

  get retainedBytes(): number {
    return this.#bytes + this.#items.size * LISTING_HEAP_BYTES
  }

  read(query: ListingQuery, range: Range): Promise<IndexReading> {
    return this.#source.read(this.#indexed, query, range)
  }

  select(query: ListingQuery): Promise<Matches & { total: number }> {
    return this.#source.select(this.#indexed, query)
  }

  /** Itself with a few changes, or a new snapshot. */
  async with(listings: ReadonlyMap<string, Item>, filters: readonly Filter[]): Promise<Snapshot> {
    const gone = [...this.#items.keys()].filter((key) => !listings.has(key))
    const changed = [...listings].filter(([key, item]) => !isSame(item, this.#items.get(key)))
    const isIndexed = filters.every(({ compiled }) => this.#paths.has(pathKey(compiled)))
    const isTidy = this.#publishers.size <= 2 * this.#items.size + MOST_IN_PLACE
    if (isIndexed && isTidy && gone.length + changed.length <= MOST_IN_PLACE) {
      for (const key of gone) this.#remove(key)
      for (const [key, item] of changed) {
        this.#remove(key)
        this.#index.put(this.#entryOf(key, item))
        this.#add(key, item)
      }
      return this
    }
    const next = new Snapshot(this.#name, filters)
    const entries = Array.from(listings, ([key, item]) => next.#entryOf(key, item))
    for (const _step of next.#index.load(entries)) await new Promise(setImmediate)
    for (const [key, item] of listings) {
      next.#add(key, item)
      if (next.#items.size % PORTION === 0) await new Promise(setImmediate)
    }
    return next
  }

  readonly #indexed: IndexedListings = {
    page: ({ criteria, publisher, priceLimit }, page) => {
      const publisherId = publisher === null ? null : this.#publishers.get(publisher)
      if (publisherId === undefined) return { items: [], total: 0 }
      const query = { status: 'open', publisherId, criteria, priceLimit, ...page } as const
      const { rows, total } = this.#index.query(query)
      return { items: rows.map(({ listingId: key }) => this.#items.get(key)!), total }
    },
    select: ({ criteria, publisher, priceLimit }) => {
      const publisherId = publisher === null ? null : this.#publishers.get(publisher)
      if (publisherId === undefined) return null
      const matches = this.#index.matches({ status: 'open', publisherId, criteria, priceLimit })
      return { matches, itemOf: ({ listingId: key }) => this.#items.get(key)! }
    },
    find: ({ publisher }, listingId) => {
      const keys = this.#keys.size === 0 ? undefined : this.#keys.get(listingId)
      if (keys === undefined && !this.#items.has(listingId)) return NONE
      const found = [...(keys ?? [listingId])].flatMap((key) => this.#items.get(key) ?? [])
      return publisher === null ? found : found.filter((item) => item.publisher === publisher)
    },
  }

  #entryOf(key: string, { position, bytes, publisher }: Item): IndexEntry {
    const publisherId = this.#publishers.get(publisher ?? UNKNOWN) ?? this.#publishers.size
    this.#publishers.set(publisher ?? UNKNOWN, publisherId)
    return { listingId: key, publisherId, status: 'open', createdAt: position, bytes }
  }

  /** The index has it already. */
  #add(key: string, item: Item): void {
    const { bytes, listingId, publisher } = item
    if (publisher === null) this.#unknown++
    if (key !== listingId) this.#keys.set(listingId, (this.#keys.get(listingId) ?? new Set()).add(key))
    this.#bytes += bytes.length
    // The index has copied the bytes, which releases the page.
    this.#items.set(key, { ...item, bytes: this.#index.get(key)?.bytes ?? bytes })
  }

  #remove(key: string): void {
    const item = this.#items.get(key)
    if (item === undefined) return
    this.#bytes -= item.bytes.length
    if (item.publisher === null) this.#unknown--
    const keys = this.#keys.get(item.listingId)
    if (keys?.delete(key) && keys.size === 0) this.#keys.delete(item.listingId)
    this.#index.remove(key)
    this.#items.delete(key)
  }
}

const NONE: readonly Item[] = []
/** Not an address, so it is never queried. */
const UNKNOWN = ''

function isSame(one: Item, other: Item | undefined): boolean {
  return (
    other !== undefined &&
    one.publisher === other.publisher &&
    one.position === other.position &&
    Buffer.compare(one.bytes, other.bytes) === 0 &&
    JSON.stringify(one.origin) === JSON.stringify(other.origin)
  )
}
