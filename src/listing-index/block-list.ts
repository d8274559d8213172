import { Block, type BlockParts, type IndexEntry } from './block.ts'
import type { FoundValues } from './found-values.ts'
import { comparePlaces, type Place } from './place.ts'
import { copySlots, liveSlots } from './rebuild.ts'
import type { Vocabulary } from './vocabulary.ts'

/** Slots of the largest block; packs a slot and its block's number into one number. */
const MOST_SLOTS = 65_536

/** Listings located per step of `adopt`: one or two ms. */
const STEP = 4096

/** The blocks of an index, each for one stretch of time, and the location of each listing. */
export class BlockList {
  /** Per block. */
  readonly slots: number
  /** Oldest first, by ascending `least`. Every block has a live listing. */
  readonly #blocks: Block[] = []
  readonly #byNumber = new Map<number, Block>()
  /** Block number and slot in one number: there is one for every listing. */
  readonly #locations = new Map<string, number>()
  readonly #vocabulary: Vocabulary
  #nextNumber = 0
  /** The last block that became full. Each insertion settles one more of its columns. */
  #settling: Block | null = null

  constructor(slots: number, vocabulary: Vocabulary) {
    this.slots = slots
    this.#vocabulary = vocabulary
  }

  get size(): number {
    return this.#locations.size
  }

  get newest(): Block | undefined {
    return this.#blocks.at(-1)
  }

  *newestFirst(): Generator<Block> {
    for (let n = this.#blocks.length - 1; n >= 0; n--) yield this.#blocks[n]!
  }

  /** The newest block that may hold something older than `place`. */
  olderThan(place: Place): Block | undefined {
    return this.#blocks[this.#countBefore(place) - 1]
  }

  get(listingId: string): IndexEntry | undefined {
    const found = this.#find(listingId)
    return found?.block.entry(found.slot)
  }

  put(entry: IndexEntry, found: FoundValues): void {
    const replaced = this.#find(entry.listingId)
    replaced?.block.kill(replaced.slot)
    const block = this.#roomFor(entry)
    if (comparePlaces(entry, block.least) < 0) block.least = placeOf(entry)
    this.#locate(entry.listingId, block, block.add(entry, found))
    if (this.#settling?.settleNext() === false) this.#settling = null
    if (block.isFull) this.#settling = block
    if (replaced !== undefined) this.#tidy(replaced.block)
  }

  /** Adopts newer listings, in steps. @throws RangeError at the first step, before any change, for others */
  *adopt(parts: BlockParts): Generator<void> {
    if (parts.slots !== this.slots) throw new RangeError('the block is of another size')
    const block = Block.of(this.#nextNumber, parts)
    if (this.newest?.order.isNewest(block.least) === false)
      throw new RangeError('the block is not the newest')
    this.#nextNumber++
    this.#insert(this.#blocks.length, block)
    const touched = new Set<Block>()
    for (const [slot, listingId] of parts.rows.listingIds.entries()) {
      if (slot % STEP === 0) yield
      const replaced = this.#find(listingId)
      replaced?.block.kill(replaced.slot)
      this.#locate(listingId, block, slot)
      if (replaced !== undefined) touched.add(replaced.block)
    }
    for (const block of touched) this.#tidy(block)
  }

  remove(listingId: string): boolean {
    const found = this.#find(listingId)
    if (found === undefined) return false
    found.block.kill(found.slot)
    this.#locations.delete(listingId)
    this.#tidy(found.block)
    return true
  }

  #find(listingId: string): { block: Block; slot: number } | undefined {
    const location = this.#locations.get(listingId)
    if (location === undefined) return undefined
    const slot = location % MOST_SLOTS
    return { block: this.#byNumber.get((location - slot) / MOST_SLOTS)!, slot }
  }

  #locate(listingId: string, block: Block, slot: number): void {
    this.#locations.set(listingId, block.number * MOST_SLOTS + slot)
  }

  #roomFor(place: Place): Block {
    const at = Math.max(0, this.#countBefore(place, true) - 1)
    const block = this.#blocks[at]
    if (block === undefined) return this.#insert(0, this.#newBlock(place))
    if (!block.isFull) return block
    if (block === this.newest && block.order.isNewest(place)) {
      return this.#insert(this.#blocks.length, this.#newBlock(place))
    }
    this.#makeRoom(at)
    return this.#roomFor(place)
  }

  /** Blocks that begin before `place`, or at it if `orAt`. */
  #countBefore(place: Place, orAt = false): number {
    let low = 0
    let high = this.#blocks.length
    while (low < high) {
      const middle = (low + high) >> 1
      const order = comparePlaces(this.#blocks[middle]!.least, place)
      if (order < 0 || (orAt && order === 0)) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Rebuilds a full block with enough dead slots, or splits it. */
  #makeRoom(at: number): void {
    const block = this.#blocks[at]!
    if (block.deadCount >= block.slots / 8) this.#rebuild(at, 1)
    else this.#split(at)
  }

  #split(at: number): void {
    const block = this.#blocks[at]!
    const slots = liveSlots(block)
    const half = slots.length >> 1
    this.#replace(at, 1, [
      this.#copy([{ block, slots: slots.slice(0, half) }]),
      this.#copy([{ block, slots: slots.slice(half) }]),
    ])
  }

  /** Rebuilds a wasteful block, with a neighbour if both fit one block with room to spare. */
  #tidy(block: Block): void {
    if (block.liveCount > 0 && !block.isWasteful) return
    const at = this.#blocks.indexOf(block)
    if (at === -1) return // rebuilt already, to make room
    if (block.liveCount === 0) this.#replace(at, 1, [])
    else if (this.#fitsOne(at - 1)) this.#rebuild(at - 1, 2)
    else if (this.#fitsOne(at)) this.#rebuild(at, 2)
    else this.#rebuild(at, 1)
  }

  #fitsOne(at: number): boolean {
    const older = this.#blocks[at]
    const newer = this.#blocks[at + 1]
    if (older === undefined || newer === undefined) return false
    return older.liveCount + newer.liveCount <= (this.slots * 3) / 4
  }

  #rebuild(at: number, count: number): void {
    const sources = this.#blocks.slice(at, at + count).map((block) => ({ block, slots: liveSlots(block) }))
    this.#replace(at, count, [this.#copy(sources)])
  }

  #copy(sources: readonly { block: Block; slots: readonly number[] }[]): Block {
    const { block, slots } = sources.find((source) => source.slots.length > 0)!
    const target = this.#newBlock(block.placeOf(slots[0]!))
    for (const source of sources) copySlots(source.block, source.slots, target)
    for (const slot of liveSlots(target)) this.#locate(target.placeOf(slot).listingId, target, slot)
    return target
  }

  #replace(at: number, count: number, blocks: readonly Block[]): void {
    for (const block of this.#blocks.splice(at, count, ...blocks)) this.#byNumber.delete(block.number)
    for (const block of blocks) this.#byNumber.set(block.number, block)
  }

  #insert(at: number, block: Block): Block {
    this.#replace(at, 0, [block])
    return block
  }

  #newBlock(least: Place): Block {
    return Block.empty(this.#nextNumber++, placeOf(least), this.slots, this.#vocabulary.size)
  }
}

const placeOf = ({ createdAt, listingId }: Place): Place => ({ createdAt, listingId })
