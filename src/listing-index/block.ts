import { LISTING_STATUSES, type ListingStatus } from '../domain/listing.ts'
import type { Micros } from '../domain/timestamp.ts'
import { type Bitset, bitset, clearBit, hasBit, setBit } from './bitset.ts'
import { ByteStore } from './byte-store.ts'
import { Column } from './column.ts'
import { Dictionary } from './dictionary.ts'
import type { FoundValues } from './found-values.ts'
import type { Place } from './place.ts'
import { SlotOrder } from './slot-order.ts'

/** One listing in the index. */
export type IndexEntry = {
  listingId: string
  publisherId: number
  status: ListingStatus
  createdAt: Micros
  /** The listing's row on the wire, `protocol.md` 1.6: JSON in UTF-8. */
  bytes: Uint8Array
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

  #used = 0
  #settled = 0
  #liveBytes = 0
  #deadBytes = 0
  readonly #texts = new ByteStore()
  readonly #listingIds: string[] = []
  readonly #createdAt: Float64Array
  readonly #publisherIds: Float64Array
  readonly #chunks: Uint32Array
  readonly #starts: Uint32Array
  readonly #lengths: Uint32Array

  /**
   * @param number tells blocks of one index apart; never used twice
   * @param least the oldest listing that it will hold
   * @param slots at most 65,536, a multiple of 32
   */
  constructor(number: number, least: Place, slots: number, columns: number) {
    this.number = number
    this.least = least
    this.slots = slots
    this.columns = Array.from({ length: columns }, () => new Column(slots))
    this.publishers = new Dictionary(slots)
    this.order = new SlotOrder(slots, (slot) => this.placeOf(slot))
    this.live = bitset(slots)
    this.byStatus = { open: bitset(slots), closed: bitset(slots), expired: bitset(slots) }
    this.#createdAt = new Float64Array(slots)
    this.#publisherIds = new Float64Array(slots)
    this.#chunks = new Uint32Array(slots)
    this.#starts = new Uint32Array(slots)
    this.#lengths = new Uint32Array(slots)
  }

  get isFull(): boolean {
    return this.#used === this.slots
  }

  /** Slots that a rebuild would win back. */
  get deadCount(): number {
    return this.#used - this.liveCount
  }

  /** Whether more than about half of what it holds is dead: rebuilding then costs no more than what was won. */
  get isWasteful(): boolean {
    return (
      this.deadCount * 2 > this.#used + this.slots / 16 || this.#deadBytes > this.#liveBytes + SPARE_BYTES
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
    const slot = this.#used++
    const { chunk, start, length } = this.#texts.add(entry.bytes)
    this.#chunks[slot] = chunk
    this.#starts[slot] = start
    this.#lengths[slot] = length
    this.#listingIds.push(entry.listingId)
    this.#createdAt[slot] = entry.createdAt
    this.#publisherIds[slot] = entry.publisherId
    this.#liveBytes += length
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
    if (column === undefined) this.publishers.settle()
    else column.settle()
    return column !== undefined
  }

  kill(slot: number): void {
    const status = this.statusOf(slot)
    clearBit(this.live, slot)
    clearBit(this.byStatus[status], slot)
    this.counts[status]--
    this.liveCount--
    this.#liveBytes -= this.#lengths[slot]!
    this.#deadBytes += this.#lengths[slot]!
  }

  listingIdOf(slot: number): string {
    return this.#listingIds[slot]!
  }

  placeOf(slot: number): Place {
    return { createdAt: this.#createdAt[slot]!, listingId: this.#listingIds[slot]! }
  }

  statusOf(slot: number): ListingStatus {
    return LISTING_STATUSES.find((status) => hasBit(this.byStatus[status], slot))!
  }

  entry(slot: number): IndexEntry {
    return {
      listingId: this.#listingIds[slot]!,
      publisherId: this.#publisherIds[slot]!,
      status: this.statusOf(slot),
      createdAt: this.#createdAt[slot]!,
      bytes: this.#texts.view({
        chunk: this.#chunks[slot]!,
        start: this.#starts[slot]!,
        length: this.#lengths[slot]!,
      }),
    }
  }

  #claim(slot: number, status: ListingStatus): void {
    setBit(this.live, slot)
    setBit(this.byStatus[status], slot)
    this.counts[status]++
    this.liveCount++
  }
}
