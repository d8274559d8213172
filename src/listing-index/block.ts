import { LISTING_STATUSES, type ListingStatus } from '../domain/listing.ts'
import { addAll, type Bitset, bitset, clearBit, countBits, hasBit, setBit } from './bitset.ts'
import { Column, type ColumnParts } from './column.ts'
import { Dictionary, type DictionaryParts } from './dictionary.ts'
import type { FoundValues } from './found-values.ts'
import type { Place } from './place.ts'
import { SlotOrder } from './slot-order.ts'
import { type SlotRow, SlotRows, type SlotRowsParts } from './slot-rows.ts'

/** One listing in the index. */
export type IndexEntry = SlotRow & { status: ListingStatus }

/** A block in which nothing is dead and slots go from oldest to newest, as plain data that threads can exchange. */
export type BlockParts = {
  slots: number
  rows: SlotRowsParts
  byStatus: Readonly<Record<ListingStatus, Bitset>>
  columns: readonly ColumnParts[]
  publishers: DictionaryParts
}

/** Dead text that a block may hold beyond what it needs, before it is rebuilt. */
const SPARE_BYTES = 1024 * 1024

/**
 * The listings of one stretch of time, each in a slot. A slot is written once: a listing that is removed or replaced
 * leaves a dead slot behind, which no status claims any more, so whatever else still names it does no harm. A block
 * with too many of them is rebuilt (`rebuild.ts`).
 */
export class Block {
  readonly number: number
  readonly slots: number
  readonly columns: readonly Column[]
  /** By publisher id. */
  readonly publishers: Dictionary
  readonly order: SlotOrder
  /** The slots of every listing that is not removed, and of those with each status. */
  readonly live: Bitset
  readonly byStatus: Readonly<Record<ListingStatus, Bitset>>
  readonly counts: Record<ListingStatus, number> = { open: 0, closed: 0, expired: 0 }
  liveCount = 0
  /** Everything here comes behind it, or is it; everything in older blocks is older. */
  least: Place

  #settled = 0
  #liveBytes = 0
  #deadBytes = 0
  readonly #rows: SlotRows

  /**
   * @param number tells blocks of one index apart; never used twice
   * @param least the oldest listing that it will hold
   * @param slots at most 65,536, a multiple of 32
   */
  static empty(number: number, least: Place, slots: number, columns: number): Block {
    return new Block(number, least, {
      slots,
      rows: SlotRows.empty(slots),
      byStatus: { open: bitset(slots), closed: bitset(slots), expired: bitset(slots) },
      columns: Array.from({ length: columns }, () => new Column(slots)),
      publishers: new Dictionary(slots),
    })
  }

  /** What another block was; it takes the parts over. */
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

  /** Whatever the rows hold is live. */
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

  /** Slots that a rebuild would win back. */
  get deadCount(): number {
    return this.#rows.used - this.liveCount
  }

  /** Whether more than about half of what it holds is dead: rebuilding then costs no more than what was won. */
  get isWasteful(): boolean {
    return (
      this.deadCount * 2 > this.#rows.used + this.slots / 16 ||
      this.#deadBytes > this.#liveBytes + SPARE_BYTES
    )
  }

  /** Takes the next slot; `found` numbers its paths as the columns are. The block must not be full. */
  add(entry: IndexEntry, { count, paths, values }: FoundValues): number {
    const slot = this.adopt(entry)
    this.publishers.add(entry.publisherId, slot)
    for (let n = 0; n < count; n++) this.columns[paths[n]!]!.add(slot, values[n]!)
    return slot
  }

  /** The same, but the columns are left to the caller. */
  adopt(entry: IndexEntry): number {
    const slot = this.#rows.add(entry)
    this.#liveBytes += entry.bytes.length
    this.#claim(slot, entry.status)
    this.order.add(slot)
    return slot
  }

  /**
   * Does for one more column what the first query would have to do, which takes up to 10 ms in a full block. `false`
   * when that was the last.
   */
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

  /** Settled. The block must not be used any more; nothing in it may be dead, and its slots must be in order. */
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
