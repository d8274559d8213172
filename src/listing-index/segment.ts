import { LISTING_STATUSES, type ListingStatus } from '../domain/listing.ts'
import type { Micros } from '../domain/timestamp.ts'
import { type Bitset, bitset, clearBit, hasBit, setBit } from './bitset.ts'
import { Column, type ColumnData } from './column.ts'
import { PriceColumns, type PriceData } from './price-columns.ts'

/** What a listing is ordered by. */
export type Place = { createdAt: Micros; listingId: string }

/** Negative when `a` is older. Readers see the reverse; ids compare by UTF-16 code units, lower first. */
export const comparePlaces = (a: Place, b: Place): number =>
  a.createdAt - b.createdAt || (a.listingId === b.listingId ? 0 : a.listingId < b.listingId ? 1 : -1)

export type IndexEntry = Place & {
  publisherId: number
  status: ListingStatus
  /** As served: JSON in UTF-8. */
  bytes: Uint8Array
  /** JSON members that a gateway adds; made by the index. */
  meaning?: string
  /** As of `RowPrices`; made by the index. */
  terms?: string
}

/** Most rows of a segment: a slot has 16 bits. */
export const MAX_SEGMENT_ROWS = 65_536

/** Rows from the oldest to the newest with their columns, as plain data that threads can exchange. */
export type SegmentData = {
  listingIds: string[]
  createdAt: Float64Array
  publisherIds: Float64Array
  /** Into `LISTING_STATUSES`. */
  statuses: Uint8Array
  /** Of the texts. Segments may share them. */
  chunks: readonly Uint8Array[]
  chunkOf: Uint16Array
  starts: Uint16Array
  lengths: Uint32Array
  /** Different ones; as a slot has 16 bits, so has their number. */
  meanings: readonly string[]
  meaningOf: Uint16Array
  /** As the meanings. */
  terms: readonly string[]
  termsOf: Uint16Array
  /** One per path of the vocabulary. */
  columns: readonly ColumnData[]
  publishers: ColumnData
  prices: PriceData
  /** Of all rows and columns. */
  values: number
}

/** Bytes that a segment may hold beyond twice those of its live rows. */
const SPARE_BYTES = 1024 * 1024

/** Immutable but for its live bits. */
export class Segment {
  readonly number: number
  readonly size: number
  readonly live: Bitset
  readonly values: number
  readonly liveByStatus: Readonly<Record<ListingStatus, Bitset>>
  readonly counts: Record<ListingStatus, number> = { open: 0, closed: 0, expired: 0 }
  readonly columns: readonly Column[]
  readonly publishers: Column
  readonly prices: PriceColumns
  /** For the matches of the latest query. */
  readonly matches: Bitset
  readonly #data: SegmentData
  #liveBytes = 0
  #heldBytes = 0

  /** Takes ownership of the data, which has one row or more. */
  constructor(number: number, data: SegmentData) {
    const size = data.listingIds.length
    this.number = number
    this.size = size
    this.values = data.values
    this.#data = data
    this.columns = data.columns.map((column) => new Column(size, column))
    this.publishers = new Column(size, data.publishers)
    this.prices = new PriceColumns(data.prices)
    this.matches = bitset(size)
    this.live = bitset(size)
    this.liveByStatus = { open: bitset(size), closed: bitset(size), expired: bitset(size) }
    for (let slot = 0; slot < size; slot++) {
      const status = this.#statusOf(slot)
      setBit(this.live, slot)
      setBit(this.liveByStatus[status], slot)
      this.counts[status]++
      this.#liveBytes += data.lengths[slot]!
    }
    for (const { byteLength } of data.chunks) this.#heldBytes += byteLength
  }

  get liveCount(): number {
    return this.counts.open + this.counts.closed + this.counts.expired
  }

  /** Over about half of it is dead: to merge it costs no more than it frees. */
  get isWasteful(): boolean {
    return this.liveCount * 2 < this.size || this.holdsDeadText
  }

  get holdsDeadText(): boolean {
    return this.#heldBytes > 2 * this.#liveBytes + SPARE_BYTES
  }

  get newest(): Micros {
    return this.createdAtOf(this.size - 1)
  }

  delete(slot: number): void {
    const status = this.#statusOf(slot)
    clearBit(this.live, slot)
    clearBit(this.liveByStatus[status], slot)
    this.counts[status]--
    this.#liveBytes -= this.#data.lengths[slot]!
  }

  isLive(slot: number): boolean {
    return hasBit(this.live, slot)
  }

  createdAtOf(slot: number): Micros {
    return this.#data.createdAt[slot]!
  }

  listingIdOf(slot: number): string {
    return this.#data.listingIds[slot]!
  }

  publisherIdOf(slot: number): number {
    return this.#data.publisherIds[slot]!
  }

  placeAt(slot: number): Place {
    return { createdAt: this.createdAtOf(slot), listingId: this.listingIdOf(slot) }
  }

  /** Its `bytes` are a view that stays valid. */
  entry(slot: number): IndexEntry {
    const { chunks, chunkOf, starts, lengths, meanings, meaningOf, terms, termsOf } = this.#data
    return {
      listingId: this.listingIdOf(slot),
      publisherId: this.publisherIdOf(slot),
      createdAt: this.createdAtOf(slot),
      bytes: chunks[chunkOf[slot]!]!.subarray(starts[slot]!, starts[slot]! + lengths[slot]!),
      status: this.#statusOf(slot),
      meaning: meanings[meaningOf[slot]!]!,
      terms: terms[termsOf[slot]!]!,
    }
  }

  #statusOf(slot: number): ListingStatus {
    return LISTING_STATUSES[this.#data.statuses[slot]!]!
  }
}
