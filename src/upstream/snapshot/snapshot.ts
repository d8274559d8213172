import type { Clock } from '../../domain/clock.ts'
import { isListingStatus, type ListingStatus } from '../../domain/listing.ts'
import { identityKey } from '../../domain/listing-identity.ts'
import type { Item } from '../../domain/source/item.ts'
import { comparePositions } from '../../domain/source/position.ts'
import { inTurns } from '../../domain/turns.ts'
import type { Filter } from '../../filter-spec/filter.ts'
import { parseObject } from '../../json/value.ts'
import { type Copy, listingIdOf, type Row } from '../../listing-index/copy.ts'
import type { CopyIndex } from '../../listing-index/copy-index.ts'
import { SourceSet } from '../../listing-index/source-set.ts'

/** So many changes take about 50 ms. More of them are made in a new generation, in steps. */
const MOST_IN_PLACE = 1000
/** Listings of one id in one source: sellers choose ids, and each change of one looks at all of its id. */
export const MAX_COPIES = 32
const LONGEST_QUESTION_MS = 10_000
/** Of a listing besides its bytes. */
const LISTING_HEAP_BYTES = 600

/** Of what may be held. `maxBytes`: of memory. */
export type Bounds = { maxListings: number; maxBytes: number }

/** Memory of a listing. */
export const sizeOf = ({ bytes }: Pick<Item, 'bytes'>): number => bytes.length + LISTING_HEAP_BYTES

/** Whether so many listings of so much memory are more than may be held. */
export function isBeyond(
  { maxListings = Infinity, maxBytes = Infinity }: Partial<Bounds>,
  { size, bytes }: { size: number; bytes: number },
): boolean {
  return size > maxListings || bytes > maxBytes
}

/** The newest listings within the bounds. `partOf`: how many there are, where these are not all. */
export function newestOf(
  listings: ReadonlyMap<string, Item>,
  bounds: Partial<Bounds>,
): { newest: ReadonlyMap<string, Item>; partOf?: number } {
  const { size } = listings
  let bytes = 0
  for (const item of listings.values()) bytes += sizeOf(item)
  if (!isBeyond(bounds, { size, bytes })) return { newest: listings }
  const newest = new Map<string, Item>()
  bytes = 0
  for (const [key, item] of [...listings].sort(([, a], [, b]) => comparePositions(a, b))) {
    bytes += sizeOf(item)
    if (isBeyond(bounds, { size: newest.size + 1, bytes })) break
    newest.set(key, item)
  }
  return { newest, partOf: size }
}

/** Listings of a pull by key. The last one of a key counts. */
export class Collected<One extends Item> {
  readonly listings = new Map<string, One>()
  /** Memory of them. */
  bytes = 0
  /** Further ones of an id. */
  withoutRoom = 0
  /** Listings of each id. */
  readonly #copies = new Map<string, number>()

  get size(): number {
    return this.listings.size
  }

  add(items: Iterable<One>): void {
    for (const item of items) {
      const { listingId } = item
      const key = snapshotKey(item)
      const before = this.listings.get(key)
      const copies = this.#copies.get(listingId) ?? 0
      if (before === undefined && copies >= MAX_COPIES) {
        this.withoutRoom++
        continue
      }
      if (before === undefined) this.#copies.set(listingId, copies + 1)
      this.bytes += sizeOf(item) - (before === undefined ? 0 : sizeOf(before))
      this.listings.set(key, item)
    }
  }
}

/** Lets the index learn filters that became known since. */
export async function learnFilters(index: CopyIndex, filters: readonly Filter[]): Promise<void> {
  if (!index.knows(filters)) await inTurns(index.replan(filters))
}

/** What is held of an upstream: a generation of its rows in the index. */
export class Snapshot {
  /** Of its rows. */
  readonly source: number
  readonly #index: CopyIndex
  readonly #name: string
  readonly #set: SourceSet
  readonly #status: ListingStatus | null

  /** @param status of all listings; `null`: as each of them says */
  constructor(index: CopyIndex, name: string, status: ListingStatus | null = 'open') {
    this.#status = status
    this.#index = index
    this.#name = name
    this.source = index.addSource(name)
    this.#set = new SourceSet([this.source])
  }

  /** Differs whenever a row has changed. */
  get version(): string {
    return this.#index.versionOf(this.#set)
  }

  get size(): number {
    return this.#index.about(this.source).rows
  }

  get knowsPublishers(): boolean {
    return this.#index.unknownSellersOf(this.source).next().done === true
  }

  get retainedBytes(): number {
    return this.#index.about(this.source).bytes + this.size * LISTING_HEAP_BYTES
  }

  /** As of the first step; rows that are gone since are left out. */
  *[Symbol.iterator](): Generator<readonly [key: string, copy: Copy]> {
    for (const key of this.#index.keysOf(this.source)) {
      const copy = this.get(key)
      if (copy !== undefined) yield [key, copy]
    }
  }

  get(key: string): Copy | undefined {
    return this.#index.get(this.source, key)
  }

  find(listingId: string): readonly Copy[] {
    return this.#index.copiesOf(listingId).filter(({ source }) => source === this.source)
  }

  newest(count: number): readonly Copy[] {
    return [...this.#index.walk(this.source, 'newest').take(count)]
  }

  /** The oldest listings, as many as are beyond these bounds. */
  beyond(bounds: Bounds): readonly Copy[] {
    const beyond: Copy[] = []
    let { size, retainedBytes: bytes } = this
    if (!isBeyond(bounds, { size, bytes })) return beyond
    for (const copy of this.#index.walk(this.source, 'oldest')) {
      beyond.push(copy)
      bytes -= sizeOf(copy)
      size--
      if (!isBeyond(bounds, { size, bytes })) break
    }
    return beyond
  }

  /** What is needed to hold exactly these listings. */
  async changeTo(listings: ReadonlyMap<string, Item>): Promise<SnapshotChange> {
    const { gone, changed } = await inTurns(this.#differences(listings))
    const keys = [...gone, ...changed.map(([key]) => key)]
    const listingIds = [...new Set(keys.map(listingIdOf))]
    if (keys.length <= MOST_IN_PLACE)
      return { listingIds, next: this, make: () => this.#replace(gone, changed) }
    // No question reads rows of a generation that is still empty.
    const next = this.size === 0 ? this : new Snapshot(this.#index, this.#name, this.#status)
    const rows = await inTurns(next.#rowsOf(listings))
    for (const _step of this.#index.load(next.source, rows)) await new Promise(setImmediate)
    return { listingIds, next, make: () => {} }
  }

  has(key: string, item: Item): boolean {
    return isSame(item, this.get(key))
  }

  /** Whether the listing is held, or there is room for it beside others of its id. */
  hasRoom(item: Item): boolean {
    const copies = this.find(item.listingId)
    return copies.length < MAX_COPIES || copies.some(({ key }) => key === snapshotKey(item))
  }

  /** What has arrived of a first pull: new ids several times as fast as by `put`. */
  load(items: readonly Item[]): void {
    const rows = new Map<string, Row>()
    const others: Item[] = []
    for (const item of items) {
      const key = snapshotKey(item)
      if (this.has(key, item)) continue
      const isNew = !rows.has(item.listingId) && this.find(item.listingId).length === 0
      if (isNew) rows.set(item.listingId, this.#rowOf(key, item))
      else others.push(item)
    }
    for (const _step of this.#index.load(this.source, [...rows.values()]));
    this.put(others)
  }

  /** @returns the number of listings without room, which are left out */
  put(items: readonly Item[]): number {
    let invalid = 0
    for (const item of items)
      if (this.hasRoom(item)) this.#index.put(this.source, this.#rowOf(snapshotKey(item), item))
      else invalid++
    return invalid
  }

  remove(keys: Iterable<string>): void {
    for (const key of keys) this.#index.remove(this.source, key)
  }

  /** Removes its rows, in turns. */
  drop(): Promise<void> {
    return inTurns(this.#index.removeSource(this.source))
  }

  /** Once the questions that began before, and still read it, have ended. */
  dropLater(clock: Clock): void {
    clock.after(LONGEST_QUESTION_MS, () => void this.drop())
  }

  *#differences(listings: ReadonlyMap<string, Item>) {
    const gone: string[] = []
    const changed: [key: string, item: Item][] = []
    for (const key of this.#index.keysOf(this.source)) {
      if (!listings.has(key)) gone.push(key)
      yield
    }
    for (const [key, item] of listings) {
      if (!isSame(item, this.get(key))) changed.push([key, item])
      yield
    }
    return { gone, changed }
  }

  #replace(gone: Iterable<string>, changed: Iterable<readonly [key: string, item: Item]>): void {
    this.remove(gone)
    for (const [key, item] of changed) this.#index.put(this.source, this.#rowOf(key, item))
  }

  *#rowsOf(listings: ReadonlyMap<string, Item>): Generator<void, Row[]> {
    const rows: Row[] = []
    for (const [key, item] of listings) {
      rows.push(this.#rowOf(key, item))
      yield
    }
    return rows
  }

  #rowOf(key: string, item: Item): Row {
    const { position, bytes, origin } = item
    const seller = this.#index.sellers.numberOf(item, UNKNOWN)
    const status = this.#status ?? statusIn(bytes)
    return { key, seller, status, position, bytes, origin }
  }
}

function statusIn(bytes: Uint8Array): ListingStatus {
  const { status } = parseObject(Buffer.from(bytes).toString())
  return typeof status === 'string' && isListingStatus(status) ? status : 'open'
}

type SnapshotChange = {
  /** That has the listings, once `make` has applied the change at once; another one is loaded already. */
  next: Snapshot
  /** Of the listings that are new, changed or gone. */
  listingIds: readonly string[]
  make: () => void
}

/** Sellers without an address are one where their storefront is. */
const UNKNOWN = ''

/**
 * Unique within an upstream. A gateway may send a listing several times, by way of several Registries, and then the last
 * one counts. Ids have no line feeds, so keys sort as ids do.
 */
export function snapshotKey(item: Item & { publisherId?: number | null }): string {
  const { listingId, origin, publisherId } = item
  if (origin === undefined) return listingId
  return `${listingId}\n${identityKey(item) ?? `${origin.registry} ${publisherId}`}`
}

function isSame(one: Item, other: Item | undefined): boolean {
  return (
    other !== undefined &&
    one.publisher === other.publisher &&
    one.aliases?.join() === other.aliases?.join() &&
    one.storefrontUrl === other.storefrontUrl &&
    one.position === other.position &&
    Buffer.compare(one.bytes, other.bytes) === 0 &&
    JSON.stringify(one.origin) === JSON.stringify(other.origin)
  )
}
