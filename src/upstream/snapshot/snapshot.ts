import type { ListingQuery } from '../../domain/query.ts'
import type { Item, Range } from '../../domain/reading.ts'
import type { Filter } from '../../filter-spec/filter.ts'
import { pathKey } from '../../filter-spec/path-key.ts'
import { type IndexedListings, type IndexReading, IndexSource } from '../../listing-index/index-source.ts'
import { ListingIndex } from '../../listing-index/listing-index.ts'

/** Changes that are made in place, at once: about 15 ms of them. More are made in a copy, in steps. */
const MOST_IN_PLACE = 1000
/** Listings of one block of the index: most upstreams fit into one. */
const BLOCK_SLOTS = 12_288
/** Listings indexed in one turn of the event loop. */
const PORTION = 100
/** Memory of a listing besides its bytes: its row in the index, its item, its entries in maps. */
const LISTING_HEAP_BYTES = 900

/** The open listings of one upstream in memory, ready to be filtered. */
export class Snapshot {
  readonly #name: string
  readonly #paths: ReadonlySet<string>
  readonly #index: ListingIndex
  readonly #source: IndexSource
  readonly #items = new Map<string, Item>()
  /** Keys of the listings of an id, where a key is more than that. */
  readonly #keys = new Map<string, Set<string>>()
  readonly #publishers = new Map<string, number>()
  /** Listings whose publisher is not known. */
  #unknown = 0
  #bytes = 0

  /** @param filters the index has their paths */
  constructor(name: string, filters: readonly Filter[]) {
    this.#name = name
    this.#paths = new Set(filters.map(({ compiled }) => pathKey(compiled)))
    this.#index = new ListingIndex(filters, { blockSlots: BLOCK_SLOTS })
    this.#source = new IndexSource(name, filters)
  }

  get listings(): ReadonlyMap<string, Item> {
    return this.#items
  }

  /** Raised by every change. */
  get version(): number {
    return this.#index.version
  }

  /** Whether the publisher of every listing is known. */
  get knowsPublishers(): boolean {
    return this.#unknown === 0
  }

  /** Memory that it keeps alive. */
  get retainedBytes(): number {
    return this.#bytes + this.#items.size * LISTING_HEAP_BYTES
  }

  /** Answers for what is open. A criterion that is not indexed is evaluated listing by listing. */
  read(query: ListingQuery, range: Range): Promise<IndexReading> {
    return this.#source.read(this.#indexed, query, range)
  }

  /**
   * A snapshot of these listings and no others: this one, changed between two queries, or a new one where that would
   * take long or the filters of the index are others.
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

  readonly #indexed: IndexedListings = {
    page: ({ criteria, publisher }, { offset, limit }) => {
      const publisherId = publisher === null ? null : this.#publishers.get(publisher)
      if (publisherId === undefined) return { items: [], total: 0 }
      const asked = { status: 'open', publisherId, criteria, limit, offset } as const
      const { listingIds: keys, total } = this.#index.ids(asked)
      return { items: keys.map((key) => this.#items.get(key)!), total }
    },
    find: ({ publisher }, listingId) => {
      const keys = this.#keys.size === 0 ? undefined : this.#keys.get(listingId)
      if (keys === undefined && !this.#items.has(listingId)) return NONE
      const found = [...(keys ?? [listingId])].flatMap((key) => this.#items.get(key) ?? [])
      return publisher === null ? found : found.filter((item) => item.publisher === publisher)
    },
  }

  #put(key: string, item: Item): void {
    this.#forget(this.#items.get(key))
    if (item.publisher === null) this.#unknown++
    const publisherId = this.#publisherId(item.publisher ?? UNKNOWN)
    const { position, bytes, listingId } = item
    if (key !== listingId) this.#keysOf(listingId).add(key)
    this.#index.put({ listingId: key, publisherId, status: 'open', createdAt: position, bytes })
    this.#bytes += bytes.length
    // The index has copied the bytes, so the page that they came in is released.
    this.#items.set(key, { ...item, bytes: this.#index.get(key)?.bytes ?? bytes })
  }

  #remove(key: string): void {
    const item = this.#items.get(key)
    if (item === undefined) return
    this.#forget(item)
    const keys = this.#keys.get(item.listingId)
    if (keys?.delete(key) && keys.size === 0) this.#keys.delete(item.listingId)
    this.#index.remove(key)
    this.#items.delete(key)
  }

  #forget(item: Item | undefined): void {
    if (item === undefined) return
    this.#bytes -= item.bytes.length
    if (item.publisher === null) this.#unknown--
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
/** Not an address, so no reader asks for it. */
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
