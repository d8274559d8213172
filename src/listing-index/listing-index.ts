import { LISTING_STATUSES, type ListingStatus } from '../domain/listing.ts'
import type { Criterion } from '../filter-spec/criteria.ts'
import type { Filter } from '../filter-spec/filter.ts'
import type { Block, BlockParts, IndexEntry } from './block.ts'
import type { BlockPlan } from './block-builder.ts'
import { BlockList } from './block-list.ts'
import { type Conditions, matchBlock, Scratch } from './match.ts'
import type { Place } from './place.ts'
import { RowReader } from './row-reader.ts'
import { Vocabulary } from './vocabulary.ts'

export type { IndexEntry } from './block.ts'

/** A listing as the index gives it back: its bytes are a view, valid for good, and not to be written to. */
export type IndexRow = Readonly<IndexEntry>

/** What is asked of the index. Every condition has to hold. */
export type IndexConditions = {
  /** `null` asks for every status. */
  status: ListingStatus | null
  /** `null` asks for every publisher. */
  publisherId: number | null
  criteria: readonly Criterion[]
}

export type IndexQuery = IndexConditions & { limit: number; offset: number }

type IndexPage = {
  /** Matches before paging. */
  total: number
  /** Newest first, then by `listing_id`. */
  rows: IndexRow[]
}

type IndexOptions = {
  /** Listings per block: a multiple of 32, at most 65,536. Default 32,768. Tests use small ones. */
  blockSlots?: number
}

/** A block is small enough for its working sets to stay in the processor's nearest caches, 4 KiB each. */
const BLOCK_SLOTS = 32_768

/** Every listing and publisher is asked for. */
const EVERYTHING: IndexConditions = { status: null, publisherId: null, criteria: [] }

/**
 * Listings in memory, ready to be filtered: a query is bit operations over blocks of listings, newest first, and its
 * rows are the bytes that were put. Documents are read when they are put and never again. The bytes of a row are a
 * view that stays valid, and stays the same, whatever happens to the index later.
 *
 * Listings usually come in `created_at` order, which is the fast way. Any other order is right too and costs a search
 * and a move of at most 128 KiB; a block that is full is then split, or rebuilt if an eighth of it is dead, which
 * takes about 20 ms every few thousand listings. Values are sorted for queries when one asks, or when a block is full,
 * then a column with each listing that comes.
 */
export class ListingIndex {
  /** Rises with every change. */
  version = 0
  readonly #vocabulary: Vocabulary
  readonly #reader: RowReader
  readonly #blocks: BlockList
  readonly #scratch: Scratch

  /** @param filters decide what can be asked: criteria must use their paths */
  constructor(filters: Iterable<Filter>, { blockSlots = BLOCK_SLOTS }: IndexOptions = {}) {
    this.#vocabulary = new Vocabulary(filters)
    this.#reader = new RowReader(this.#vocabulary.tree)
    this.#blocks = new BlockList(blockSlots, this.#vocabulary)
    this.#scratch = new Scratch(blockSlots)
  }

  /**
   * Inserts a listing, or replaces the one of the same id, which keeps its place if `createdAt` is the same.
   * The bytes are JSON that a parser has accepted; what filters see in others is anybody's guess.
   * @throws SyntaxError for some bytes that are not JSON; nothing has changed then
   */
  put(entry: IndexEntry): void {
    this.#blocks.put(entry, this.#reader.read(entry.bytes))
    this.version++
  }

  /** What a `BlockBuilder` for this index works after. */
  get plan(): BlockPlan {
    return { paths: this.#vocabulary.paths, slots: this.#blocks.slots }
  }

  /**
   * Takes in the block that a `BlockBuilder` has made, of listings that are all newer than those that are here. It is
   * done in steps of some ms each, and before the last of them the index is not to be used.
   * @throws RangeError at the first step for any other block; nothing has changed then
   */
  *adopt(block: BlockParts): Generator<void> {
    yield* this.#blocks.adopt(block)
    this.version++
  }

  /** `false` when there is no such listing. */
  remove(listingId: string): boolean {
    const removed = this.#blocks.remove(listingId)
    if (removed) this.version++
    return removed
  }

  get(listingId: string): IndexRow | undefined {
    return this.#blocks.get(listingId)
  }

  /** @throws Error when a criterion's path is not one of the index's filters' */
  query(asked: IndexQuery): IndexPage {
    const { total, found: rows } = this.#find(asked, (block, slot) => block.entry(slot))
    return { total, rows }
  }

  /** The same, for who needs no more of the rows than their ids. */
  ids(asked: IndexQuery): { total: number; listingIds: string[] } {
    const { total, found: listingIds } = this.#find(asked, (block, slot) => block.listingIdOf(slot))
    return { total, listingIds }
  }

  /**
   * Everything that meets the conditions, newest first. The index may change between two steps: what is not touched
   * comes exactly once, and nothing that keeps its place comes twice.
   */
  *entries(asked: IndexConditions = EVERYTHING): Generator<IndexRow> {
    const conditions = this.#conditions(asked)
    let block = this.#blocks.newest
    let before: Place | null = null
    while (block !== undefined) {
      const rows = this.#rowsOlderThan(before, block, conditions)
      const { least }: Block = block
      yield* rows
      before = least
      block = this.#blocks.olderThan(least)
    }
  }

  /** One publisher's listings of every status, newest first; the index may change meanwhile. */
  entriesOf(publisherId: number): Generator<IndexRow> {
    return this.entries({ ...EVERYTHING, publisherId })
  }

  /** Listings of that status; of every status where it is `null`. */
  count(status: ListingStatus | null): number {
    const counted = status === null ? LISTING_STATUSES : [status]
    let count = 0
    for (const block of this.#blocks.newestFirst()) {
      for (const one of counted) count += block.counts[one]
    }
    return count
  }

  get size(): number {
    return this.#blocks.size
  }

  #find<T>(
    { limit, offset, ...asked }: IndexQuery,
    take: (block: Block, slot: number) => T,
  ): { total: number; found: T[] } {
    const conditions = this.#conditions(asked)
    const found: T[] = []
    let total = 0
    for (const block of this.#blocks.newestFirst()) {
      const { slots, count } = matchBlock(block, conditions, this.#scratch)
      if (found.length < limit && total + count > offset) {
        const skip = Math.max(0, offset - total)
        for (const slot of block.order.newestFirst(slots, skip, limit - found.length))
          found.push(take(block, slot))
      }
      total += count
    }
    return { total, found }
  }

  #rowsOlderThan(before: Place | null, block: Block, conditions: Conditions): IndexRow[] {
    const { slots, count } = matchBlock(block, conditions, this.#scratch)
    const skip = before === null ? 0 : block.order.countNotOlder(slots, before)
    return block.order.newestFirst(slots, skip, count).map((slot) => block.entry(slot))
  }

  #conditions({ status, publisherId, criteria }: IndexConditions): Conditions {
    const asked = criteria.map((criterion) => ({
      column: this.#vocabulary.columnOf(criterion.filter),
      criterion,
    }))
    return { status, publisherId, criteria: asked }
  }
}
