import { identityKey, sellerKey } from '../../domain/listing-identity.ts'
import type { HiddenRows, ListingQuery } from '../../domain/query.ts'
import { randomId } from '../../domain/random-id.ts'
import type { CopiesOf, HeldCopy } from '../../domain/source/held.ts'
import { hasPassed, type Item, type Range } from '../../domain/source/reading.ts'
import type { Matches } from '../../domain/source/selection.ts'
import { inTurns } from '../../domain/turns.ts'
import { type Filter, filterIn } from '../../filter-spec/filter.ts'
import { pathKey } from '../../filter-spec/path.ts'
import {
  type IndexCounts,
  type IndexedListings,
  type IndexReading,
  IndexSource,
} from '../../listing-index/index-source.ts'
import { type IndexEntry, type IndexRow, ListingIndex } from '../../listing-index/listing-index.ts'

/** So many changes take about 15 ms. More of them are made in a copy, in steps. */
const MOST_IN_PLACE = 1000
/** Listings of one id in one source: sellers choose ids, and each change of one looks at all of its id. */
export const MAX_COPIES = 32
/** Of a listing besides its bytes: its rows in the index, and what the index lacks. */
export const LISTING_HEAP_BYTES = 600

/** Listings by key, in an index. Their bytes are copied, so that no page stays in memory. */
export class Snapshot {
  readonly #id = randomId()
  readonly #name: string
  readonly #paths: ReadonlySet<string>
  readonly #index: ListingIndex
  readonly #source: IndexSource
  /** Members that a row lacks, and that do not follow from its publisher. */
  readonly #details = new Map<string, Details>()
  /** By listing id, for keys that are not the id itself. */
  readonly #keys = new Map<string, string | readonly string[]>()
  /** By address; where it is not known by storefront, which is never queried. */
  readonly #publisherIds = new Map<string, number>()
  readonly #publishers: Publisher[] = []
  /** Rows by the gateways that they came through. */
  readonly #through = new Map<string, { keys: Set<string>; version: number }>()
  /** Most listings of a gateway have the same details. */
  readonly #sharedDetails = new Map<string, Details>()
  #unknown = 0
  #bytes = 0

  /** @param filters their paths are indexed */
  constructor(name: string, filters: readonly Filter[]) {
    this.#name = name
    this.#paths = new Set(filters.map(({ compiled }) => pathKey(compiled)))
    this.#index = new ListingIndex(filters.map((filter) => filterIn(filter, name)))
    this.#source = new IndexSource(name, filters)
  }

  get contents(): string {
    return `${this.#id}.${this.#index.version}`
  }

  get size(): number {
    return this.#index.size
  }

  get version(): number {
    return this.#index.version
  }

  get knowsPublishers(): boolean {
    return this.#unknown === 0
  }

  get retainedBytes(): number {
    return this.#bytes + this.size * LISTING_HEAP_BYTES
  }

  get keys(): Iterable<string> {
    return this.#index.ids
  }

  /** An id may come several times. */
  get listingIds(): Iterable<string> {
    return Iterator.from(this.keys).map(listingIdOf)
  }

  *[Symbol.iterator](): Generator<readonly [key: string, item: Item]> {
    for (const key of this.keys) yield [key, this.get(key)!]
  }

  get(key: string): Item | undefined {
    const row = this.#index.get(key)
    return row && this.#itemOf(row)
  }

  readonly copiesOf: CopiesOf = (listingId) => this.find(listingId)

  /** The copies of these ids as they are now. */
  capture(listingIds: readonly string[]): CopiesOf {
    const copies = new Map(listingIds.map((listingId) => [listingId, this.find(listingId)]))
    return (listingId) => copies.get(listingId) ?? NONE
  }

  find(listingId: string): readonly HeldCopy[] {
    const copies = this.#keysOf(listingId).flatMap((key) => {
      const item = this.get(key)
      return item === undefined ? [] : [{ key, item, status: 'open' as const }]
    })
    return copies.length === 0 ? NONE : copies
  }

  indexes(filters: readonly Filter[]): boolean {
    return filters.every(({ compiled }) => this.#paths.has(pathKey(compiled)))
  }

  /** The first rows of a page. */
  newest(count: number): readonly IndexRow[] {
    return this.#index.query({ status: 'open', publisherId: null, criteria: [], limit: count }).rows
  }

  /** The oldest listings, as many as are beyond these bounds. */
  beyond({ maxListings, maxBytes }: { maxListings: number; maxBytes: number }): readonly HeldCopy[] {
    const beyond: HeldCopy[] = []
    let { size, retainedBytes: bytes } = this
    while (size > 0 && (size > maxListings || bytes > maxBytes)) {
      const asked = { status: 'open', publisherId: null, criteria: [], limit: 1, offset: size - 1 } as const
      const [row] = this.#index.query(asked).rows
      const item = this.#itemOf(row!)
      beyond.push({ key: row!.listingId, item, status: 'open' })
      bytes -= item.bytes.length + LISTING_HEAP_BYTES
      size--
    }
    return beyond
  }

  read(query: ListingQuery, range: Range): Promise<IndexReading> {
    return this.#source.read(this.#indexed, query, range)
  }

  select(query: ListingQuery): Promise<Matches & IndexCounts> {
    return this.#source.select(this.#indexed, query)
  }

  /** What is needed to hold exactly these listings. */
  async changeTo(listings: ReadonlyMap<string, Item>, filters: readonly Filter[]): Promise<SnapshotChange> {
    const { gone, changed } = await inTurns(this.#differences(listings))
    const isTidy = this.#publishers.length <= 2 * this.size + MOST_IN_PLACE
    const keys = [...gone, ...changed.map(([key]) => key)]
    const listingIds = [...new Set(keys.map(listingIdOf))]
    if (this.indexes(filters) && isTidy && keys.length <= MOST_IN_PLACE) {
      let before: CopiesOf = this.copiesOf
      const make = () => {
        before = this.capture(listingIds)
        return this.#replace(gone, changed)
      }
      return { listingIds, before: (listingId) => before(listingId), make }
    }
    const next = new Snapshot(this.#name, filters)
    const entries = await inTurns(next.#describeAll(listings))
    for (const _step of next.#index.load(entries)) await new Promise(setImmediate)
    return { listingIds, before: this.copiesOf, make: () => next }
  }

  has(key: string, item: Item): boolean {
    return isSame(item, this.get(key))
  }

  /** Whether the listing is held, or there is room for it beside others of its id. */
  hasRoom(item: Item): boolean {
    const keys = this.#keysOf(item.listingId)
    return keys.length < MAX_COPIES || keys.includes(snapshotKey(item))
  }

  /** @returns the number of listings without room, which are left out */
  put(items: readonly Item[]): number {
    let invalid = 0
    for (const item of items)
      if (this.hasRoom(item)) this.#replace([], [[snapshotKey(item), item]])
      else invalid++
    return invalid
  }

  remove(keys: Iterable<string>): void {
    this.#replace(keys, [])
  }

  *#differences(listings: ReadonlyMap<string, Item>) {
    const gone: string[] = []
    const changed: [key: string, item: Item][] = []
    for (const key of this.keys) {
      if (!listings.has(key)) gone.push(key)
      yield
    }
    for (const [key, item] of listings) {
      if (!isSame(item, this.get(key))) changed.push([key, item])
      yield
    }
    return { gone, changed }
  }

  #replace(gone: Iterable<string>, changed: Iterable<readonly [key: string, item: Item]>): this {
    for (const key of gone) this.#remove(key)
    for (const [key, item] of changed) {
      this.#remove(key)
      this.#index.put(this.#describe(key, item))
    }
    return this
  }

  readonly #indexed: IndexedListings = {
    page: (query, { after, limit, offset }) => {
      const publisherId = this.#publisherId(query.publisher)
      if (publisherId === undefined) return { items: [], total: 0 }
      const denied = this.#deniedOf(query)
      const asked = { ...query, denied, status: 'open', publisherId, after, limit, offset } as const
      const { rows, total, hidden } = this.#index.query(asked)
      return { items: rows.map((row) => this.#itemOf(row)), total, hidden }
    },
    select: ({ publisher, ...query }) => {
      const publisherId = this.#publisherId(publisher)
      if (publisherId === undefined) return null
      const denied = this.#deniedOf(query)
      const matches = this.#index.matches({ ...query, denied, status: 'open', publisherId })
      return { matches, itemOf: (row) => this.#itemOf(row), publisherOf: (id) => this.#publishers[id]! }
    },
    find: ({ publisher, via }, listingId) => {
      const items = this.find(listingId).map(({ item }) => item)
      return items.filter(
        (item) => (publisher === null || item.publisher === publisher) && !hasPassed(item, via),
      )
    },
  }

  /** A gateway that asks has what came through it: sent back, a listing would outlive its end in a ring of gateways. */
  #deniedOf({ denied = [], via = [] }: Pick<ListingQuery, 'denied' | 'via'>): readonly HiddenRows[] {
    const passed = via.flatMap((id) => this.#through.get(id) ?? [])
    return passed.length === 0 ? denied : [...denied, ...passed]
  }

  #setPath(key: string, via: readonly string[] = [], isHeld: boolean): void {
    for (const id of via) {
      const rows = this.#through.get(id) ?? { keys: new Set(), version: 0 }
      this.#through.set(id, rows)
      rows.version++
      if (isHeld) rows.keys.add(key)
      else if (rows.keys.delete(key) && rows.keys.size === 0) this.#through.delete(id)
    }
  }

  /** `undefined` for an unknown publisher. */
  #publisherId(publisher: string | null): number | null | undefined {
    return publisher === null ? null : this.#publisherIds.get(publisher)
  }

  #itemOf({ listingId: key, bytes, createdAt: position, publisherId, meaning, terms }: IndexRow): Item {
    const { publisher, storefrontUrl } = this.#publishers[publisherId]!
    const own = this.#details.get(key)
    const item = {
      bytes,
      listingId: listingIdOf(key),
      row: key,
      createdAt: position,
      position,
      storefrontUrl,
      publisher,
      meaning,
      terms,
    }
    return own === undefined ? item : { ...item, ...own }
  }

  *#describeAll(listings: ReadonlyMap<string, Item>): Generator<void, IndexEntry[]> {
    const entries: IndexEntry[] = []
    for (const [key, item] of listings) {
      entries.push(this.#describe(key, item))
      yield
    }
    return entries
  }

  /** The row of a listing, whose other parts are added here. */
  #describe(key: string, item: Item): IndexEntry {
    const { listingId, position, bytes, publisher, storefrontUrl, createdAt, origin } = item
    const seller = sellerKey(item) ?? UNKNOWN
    const publisherId = this.#publisherIds.get(seller) ?? this.#publishers.length
    if (publisherId === this.#publishers.length) {
      this.#publisherIds.set(seller, publisherId)
      this.#publishers.push({ publisher, storefrontUrl })
    }
    const details: Details = {}
    if (storefrontUrl !== this.#publishers[publisherId]!.storefrontUrl) details.storefrontUrl = storefrontUrl
    if (createdAt !== position) details.createdAt = createdAt
    if (origin !== undefined) details.origin = origin
    this.#setPath(key, origin?.via, true)
    if (Object.keys(details).length > 0) this.#details.set(key, this.#shared(details))
    if (publisher === null) this.#unknown++
    if (key !== listingId)
      this.#keys.set(listingId, this.#keys.has(listingId) ? [...this.#keysOf(listingId), key] : key)
    this.#bytes += bytes.length
    return { listingId: key, publisherId, status: 'open', createdAt: position, bytes }
  }

  #keysOf(listingId: string): readonly string[] {
    const keys = this.#keys.get(listingId) ?? listingId
    return typeof keys === 'string' ? [keys] : keys
  }

  #shared(details: Details): Details {
    const text = JSON.stringify(details)
    const twin = this.#sharedDetails.get(text)
    if (twin === undefined && this.#sharedDetails.size < MAX_SHARED) this.#sharedDetails.set(text, details)
    return twin ?? details
  }

  #remove(key: string): void {
    const row = this.#index.get(key)
    if (row === undefined) return
    this.#bytes -= row.bytes.length
    if (this.#publishers[row.publisherId]!.publisher === null) this.#unknown--
    const listingId = listingIdOf(key)
    const otherKeys = this.#keysOf(listingId).filter((other) => other !== key)
    if (otherKeys.length > 0 && key !== listingId) this.#keys.set(listingId, otherKeys)
    else this.#keys.delete(listingId)
    this.#setPath(key, this.#details.get(key)?.origin?.via, false)
    this.#details.delete(key)
    this.#index.remove(key)
  }
}

/** `make` applies the change at once, and returns the snapshot that has the listings. */
type SnapshotChange = {
  /** Of the listings that are new, changed or gone. */
  listingIds: readonly string[]
  /** Their copies before it was made. */
  before: CopiesOf
  make: () => Snapshot
}

type Publisher = Pick<Item, 'publisher' | 'storefrontUrl'>
type Details = { -readonly [Name in 'storefrontUrl' | 'createdAt' | 'origin']?: Item[Name] }

const NONE: readonly HeldCopy[] = []
/** Neither an address nor a storefront. */
const UNKNOWN = ''
const MAX_SHARED = 1000

/**
 * Unique within an upstream. A gateway may send a listing several times, by way of several Registries, and then the last
 * one counts. Ids have no line feeds, so keys sort as ids do.
 */
export function snapshotKey(item: Item & { publisherId?: number | null }): string {
  const { listingId, origin, publisherId } = item
  if (origin === undefined) return listingId
  return `${listingId}\n${identityKey(item) ?? `${origin.registry} ${publisherId}`}`
}

function listingIdOf(key: string): string {
  const end = key.indexOf('\n')
  return end === -1 ? key : key.slice(0, end)
}

function isSame(one: Item, other: Item | undefined): boolean {
  return (
    other !== undefined &&
    one.publisher === other.publisher &&
    one.storefrontUrl === other.storefrontUrl &&
    one.position === other.position &&
    Buffer.compare(one.bytes, other.bytes) === 0 &&
    JSON.stringify(one.origin) === JSON.stringify(other.origin)
  )
}
