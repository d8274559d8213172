import { LISTING_STATUSES, type ListingStatus } from '../domain/listing.ts'
import type { Origin } from '../domain/source/item.ts'
import type { Micros } from '../domain/timestamp.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { pathKey } from '../filter-spec/path.ts'
import { type Bitset, bitset, clearBit, hasBit, setBit } from './bitset.ts'
import { Column, type ColumnData } from './column.ts'
import type { HeldRow, Row } from './copy.ts'
import { PriceColumns, type PriceData } from './price-columns.ts'

/** What a row is ordered by. `source`: its name, which orders copies of one key and time. */
export type Place = Pick<Row, 'position' | 'key'> & { source?: string | undefined }

/** Negative when `a` is older. Readers see the reverse; ids compare by UTF-16 code units, lower first. */
export const comparePlaces = (a: Place, b: Place): number =>
  a.position - b.position || compareTexts(b.key, a.key) || compareTexts(b.source, a.source)

const compareTexts = (a: string | undefined, b: string | undefined): number =>
  a === b || a === undefined || b === undefined ? 0 : a < b ? -1 : 1

/** Most rows of a segment: a slot has 16 bits. */
export const MAX_SEGMENT_ROWS = 65_536

/** Rows from the oldest to the newest with their columns, as plain data that threads can exchange. */
export type SegmentData = {
  keys: string[]
  positions: Float64Array
  sellers: Float64Array
  /** Into `LISTING_STATUSES`. */
  statuses: Uint8Array
  /** Of the texts. Segments may have some in common. */
  chunks: Shared<Uint8Array>
  starts: Uint16Array
  lengths: Uint32Array
  meanings: Shared<string>
  terms: Shared<string>
  origins: Shared<Origin | undefined>
  /** One per path of the vocabulary. */
  columns: readonly ColumnData[]
  sellerColumn: ColumnData
  prices: PriceData
  /** Of all rows and columns. */
  values: number
}

/** The different values of rows, and of each slot the number of its value, which has 16 bits as a slot has. */
export type Shared<Value> = { values: readonly Value[]; numbers: Uint16Array }

export const sharedAt = <Value>({ values, numbers }: Shared<Value>, slot: number): Value =>
  values[numbers[slot]!]!

/** Bytes that a segment may hold beyond twice those of its live rows. */
const SPARE_BYTES = 1024 * 1024

/** What rows are, besides their columns. */
export type Rows = {
  readonly size: number
  keyOf: (slot: number) => string
  laneOf: (slot: number) => number
  sellerOf: (slot: number) => number
  lengthOf: (slot: number) => number
  /** Its `bytes` are a view that stays valid. */
  rowAt: (slot: number) => HeldRow
}

export type RowPlace = { rows: Rows; slot: number }

export type SegmentOptions = {
  /** By the plan that it was built with, the number of each column. */
  columns: ReadonlyMap<string, number>
  /** Per row. */
  lanes: Uint16Array
  /** By lane, as of when its rows were ordered. */
  sourceNames: ReadonlyMap<number, string | undefined>
  /** Its rows exist once they are revived. Default: at once. */
  isEmpty?: boolean
  /** Of a part of the tail: where its rows are in the tail. */
  tailSlots?: Uint16Array
}

/** Immutable but for its live bits. */
export class Segment implements Rows {
  readonly number: number
  readonly size: number
  readonly live: Bitset
  readonly lanes: Uint16Array
  readonly tailSlots: Uint16Array | undefined
  /** Of all rows, dead ones among them. */
  readonly lanesInUse: ReadonlySet<number>
  /** Live rows. */
  liveCount = 0
  readonly countByLane = new Map<number, number>()
  /** Raised with every change of a live bit. */
  version = 0
  readonly values: number
  readonly liveByStatus: Readonly<Record<ListingStatus, Bitset>>
  readonly columns: readonly Column[]
  readonly sellers: Column
  readonly prices: PriceColumns
  readonly #data: SegmentData
  readonly #columnNumbers: SegmentOptions['columns']
  readonly #sourceNames: SegmentOptions['sourceNames']
  #liveBytes = 0
  #heldBytes = 0

  /** Takes ownership of the data, which has one row or more. */
  constructor(number: number, data: SegmentData, options: SegmentOptions) {
    const { columns, lanes, sourceNames, isEmpty = false, tailSlots } = options
    const size = data.keys.length
    this.number = number
    this.size = size
    this.values = data.values
    this.#data = data
    this.columns = data.columns.map((column) => new Column(size, column))
    this.sellers = new Column(size, data.sellerColumn)
    this.prices = new PriceColumns(data.prices)
    this.#columnNumbers = columns
    this.lanes = lanes
    this.lanesInUse = new Set(lanes)
    this.#sourceNames = sourceNames
    this.tailSlots = tailSlots
    this.live = bitset(size)
    this.liveByStatus = { open: bitset(size), closed: bitset(size), expired: bitset(size) }
    if (!isEmpty) for (let slot = 0; slot < size; slot++) this.revive(slot)
    for (const { byteLength } of data.chunks.values) this.#heldBytes += byteLength
  }

  /** Over about half of it is dead: to merge it costs no more than it frees. */
  get isWasteful(): boolean {
    return this.liveCount * 2 < this.size || this.holdsDeadText
  }

  get holdsDeadText(): boolean {
    return this.#heldBytes > 2 * this.#liveBytes + SPARE_BYTES
  }

  get newest(): Micros {
    return this.positionOf(this.size - 1)
  }

  /** `undefined` where the segment was built without the path. */
  columnOf({ compiled }: Filter): Column | undefined {
    const number = this.#columnNumbers.get(pathKey(compiled))
    return number === undefined ? undefined : this.columns[number]
  }

  isBuiltWith(columns: SegmentOptions['columns']): boolean {
    return this.#columnNumbers === columns
  }

  revive(slot: number): void {
    setBit(this.live, slot)
    setBit(this.liveByStatus[this.statusOf(slot)], slot)
    this.#count(slot, 1)
  }

  delete(slot: number): void {
    clearBit(this.live, slot)
    clearBit(this.liveByStatus[this.statusOf(slot)], slot)
    this.#count(slot, -1)
  }

  #count(slot: number, change: 1 | -1): void {
    const lane = this.lanes[slot]!
    this.liveCount += change
    const count = (this.countByLane.get(lane) ?? 0) + change
    if (count === 0) this.countByLane.delete(lane)
    else this.countByLane.set(lane, count)
    this.#liveBytes += change * this.#data.lengths[slot]!
    this.version++
  }

  isLive(slot: number): boolean {
    return hasBit(this.live, slot)
  }

  positionOf(slot: number): Micros {
    return this.#data.positions[slot]!
  }

  keyOf(slot: number): string {
    return this.#data.keys[slot]!
  }

  sellerOf(slot: number): number {
    return this.#data.sellers[slot]!
  }

  laneOf(slot: number): number {
    return this.lanes[slot]!
  }

  lengthOf(slot: number): number {
    return this.#data.lengths[slot]!
  }

  sourceOf(slot: number): string | undefined {
    return this.#sourceNames.get(this.lanes[slot]!)
  }

  placeAt(slot: number): Place {
    return { position: this.positionOf(slot), key: this.keyOf(slot), source: this.sourceOf(slot) }
  }

  rowAt(slot: number): HeldRow {
    const { chunks, starts, lengths, meanings, terms, origins } = this.#data
    return {
      key: this.keyOf(slot),
      seller: this.sellerOf(slot),
      position: this.positionOf(slot),
      bytes: sharedAt(chunks, slot).subarray(starts[slot]!, starts[slot]! + lengths[slot]!),
      status: this.statusOf(slot),
      meaning: sharedAt(meanings, slot),
      terms: sharedAt(terms, slot),
      origin: sharedAt(origins, slot),
    }
  }

  statusOf(slot: number): ListingStatus {
    return LISTING_STATUSES[this.#data.statuses[slot]!]!
  }
}
