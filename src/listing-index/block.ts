import { LISTING_STATUSES, type ListingStatus } from '../domain/listing.ts'
import { addAll, type Bitset, bitset, clearBit, countBits, hasBit, setBit } from './bitset.ts'
import { Column, type ColumnParts } from './column.ts'
import { Dictionary, type DictionaryParts } from './dictionary.ts'
import type { FoundValues } from './found-values.ts'
import type { Place } from './place.ts'
import { SlotOrder } from './slot-order.ts'
import { type SlotRow, SlotRows, type SlotRowsParts } from './slot-rows.ts'

export type IndexEntry = SlotRow & { status: ListingStatus }

/** A block without dead slots, ordered from oldest to newest, as plain data that threads can exchange. */
export type BlockParts = {
  slots: number
  rows: SlotRowsParts
  byStatus: Readonly<Record<ListingStatus, Bitset>>
  columns: readonly ColumnParts[]
  publishers: DictionaryParts
}

/** Dead text that a block may hold beyond the size of its live text. */
const SPARE_BYTES = 1024 * 1024

/** A slot is written once. Removal leaves it dead: no status claims it, so stale references do no harm. */
export class Block {
  readonly number: number
  readonly slots: number
  readonly columns: readonly Column[]
  readonly publishers: Dictionary
  readonly order: SlotOrder
  readonly live: Bitset
  readonly byStatus: Readonly<Record<ListingStatus, Bitset>>
  readonly counts: Record<ListingStatus, number> = { open: 0, closed: 0, expired: 0 }
  liveCount = 0
  /** Lower bound of this block; everything in older blocks is older. */
  least: Place

  #settled = 0
  #liveBytes = 0
  #deadBytes = 0
  readonly #rows: SlotRows

  /** `number`: never reused. `least`: its oldest listing. `slots`: a multiple of 32, at most 65,536. */
  static empty(number: number, least: Place, slots: number, columns: number): Block {
    return new Block(number, least, {
      slots,
      rows: SlotRows.empty(slots),
      byStatus: { open: bitset(slots), closed: bitset(slots), expired: bitset(slots) },
      columns: Array.from({ length: columns }, () => new Column(slots)),
      publishers: new Dictionary(slots),
    })
  }

  /** Takes ownership of the parts. */
  static of(number: number, parts: BlockParts): Block {
    const { slots, byStatus } = parts
    const rows = new SlotRows(parts.rows)
    return new Block(number, rows.placeOf(0), {
      slots,
      rows,
      byStatus,
      columns: parts.columns.map((column) => Column.of(slots, column)),
      publishers: Dictionary.of(slots, parts.publishers),
    })
  }

  /** All rows are live. */
  private constructor(number: number, least: Place, { slots, rows, byStatus, columns, publishers }: Held) {
    this.number = number
    this.least = least
    this.slots = slots
    this.columns = columns
    this.publishers = publishers
    this.byStatus = byStatus
    this.live = bitset(slots)
    this.#rows = rows
    this.order = new SlotOrder(slots, (slot) => rows.placeOf(slot), rows.used)
    for (const status of LISTING_STATUSES) {
      addAll(this.live, byStatus[status])
      this.counts[status] = countBits(byStatus[status])
      this.liveCount += this.counts[status]
    }
    for (let slot = 0; slot < rows.used; slot++) this.#liveBytes += rows.lengthOf(slot)
  }

  get isFull(): boolean {
    return this.#rows.used === this.slots
  }

  /** Slots that a rebuild would free. */
  get deadCount(): number {
    return this.#rows.used - this.liveCount
  }

  /** Over about half is dead: a rebuild costs no more than it frees. */
  get isWasteful(): boolean {
    return (
      this.deadCount * 2 > this.#rows.used + this.slots / 16 ||
      this.#deadBytes > this.#liveBytes + SPARE_BYTES
    )
  }

  /** Takes the next slot. The block must not be full. `found` numbers paths as the columns. */
  add(entry: IndexEntry, { count, paths, values }: FoundValues): number {
    const slot = this.adopt(entry)
    this.publishers.add(entry.publisherId, slot)
    for (let n = 0; n < count; n++) this.columns[paths[n]!]!.add(slot, values[n]!)
    return slot
  }

  /** As `add`, but the caller fills the columns and publishers. */
  adopt(entry: IndexEntry): number {
    const slot = this.#rows.add(entry)
    this.#liveBytes += entry.bytes.length
    this.#claim(slot, entry.status)
    this.order.add(slot)
    return slot
  }

  /** Settles one more column, up to 10 ms in a full block, before a query must. `false` after the last. */
  settleNext(): boolean {
    const column = this.columns[this.#settled++]
    if (column === undefined) this.publishers.pack()
    else column.settle()
    return column !== undefined
  }

  kill(slot: number): void {
    const status = this.statusOf(slot)
    clearBit(this.live, slot)
    clearBit(this.byStatus[status], slot)
    this.counts[status]--
    this.liveCount--
    this.#liveBytes -= this.#rows.lengthOf(slot)
    this.#deadBytes += this.#rows.lengthOf(slot)
  }

  listingIdOf(slot: number): string {
    return this.#rows.listingIdOf(slot)
  }

  placeOf(slot: number): Place {
    return this.#rows.placeOf(slot)
  }

  statusOf(slot: number): ListingStatus {
    return LISTING_STATUSES.find((status) => hasBit(this.byStatus[status], slot))!
  }

  entry(slot: number): IndexEntry {
    return { ...this.#rows.rowOf(slot), status: this.statusOf(slot) }
  }

  /** Do not use the block afterwards. It must have no dead slots, and its slots must be in order. */
  parts(): BlockParts {
    const { slots, byStatus } = this
    return {
      slots,
      rows: this.#rows.parts(),
      byStatus,
      columns: this.columns.map((column) => column.parts()),
      publishers: this.publishers.parts(),
    }
  }

  #claim(slot: number, status: ListingStatus): void {
    setBit(this.live, slot)
    setBit(this.byStatus[status], slot)
    this.counts[status]++
    this.liveCount++
  }
}

type Held = Pick<Block, 'slots' | 'byStatus' | 'columns' | 'publishers'> & { rows: SlotRows }
