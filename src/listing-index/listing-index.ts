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

/** `bytes` is a view that stays valid; do not write to it. */
export type IndexRow = Readonly<IndexEntry>

/** AND-ed. */
export type IndexConditions = {
  /** `null`: every status. */
  status: ListingStatus | null
  /** `null`: every publisher. */
  publisherId: number | null
  criteria: readonly Criterion[]
}

export type IndexQuery = IndexConditions & { limit: number; offset: number }

type IndexPage = {
  total: number
  /** Newest first, then by `listing_id`. */
  rows: IndexRow[]
}

type IndexOptions = {
  /** Multiple of 32, at most 65,536. Default 32,768; tests use small ones. */
  blockSlots?: number
}

/** Keeps a query's working sets, 4 KiB each, in the nearest CPU caches. */
const BLOCK_SLOTS = 32_768

const EVERYTHING: IndexConditions = { status: null, publisherId: null, criteria: [] }

/**
 * Filters by bit operations over blocks. Row bytes are views that stay valid and unchanged. Listings in
 * `created_at` order are fastest; any other costs a search, a move of at most 128 KiB, and every few thousand
 * listings a split or rebuild of about 20 ms.
 */
export class ListingIndex {
  /** Increases with every change. */
  version = 0
  readonly #vocabulary: Vocabulary
  readonly #reader: RowReader
  readonly #blocks: BlockList
  readonly #scratch: Scratch

  /** @param filters criteria must use their paths */
  constructor(filters: Iterable<Filter>, { blockSlots = BLOCK_SLOTS }: IndexOptions = {}) {
    this.#vocabulary = new Vocabulary(filters)
    this.#reader = new RowReader(this.#vocabulary.tree)
    this.#blocks = new BlockList(blockSlots, this.#vocabulary)
    this.#scratch = new Scratch(blockSlots)
  }

  /** Inserts valid JSON, or replaces by id. @throws SyntaxError for some other bytes, before any change */
  put(entry: IndexEntry): void {
    this.#blocks.put(entry, this.#reader.read(entry.bytes))
    this.version++
  }

  get plan(): BlockPlan {
    return { paths: this.#vocabulary.paths, slots: this.#blocks.slots }
  }

  /**
   * Adopts a block of newer listings in steps of some ms. Do not use the index before the last.
   * @throws RangeError at the first step for any other block; nothing has changed then
   */
  *adopt(block: BlockParts): Generator<void> {
    yield* this.#blocks.adopt(block)
    this.version++
  }

  remove(listingId: string): boolean {
    const removed = this.#blocks.remove(listingId)
    if (removed) this.version++
    return removed
  }

  get(listingId: string): IndexRow | undefined {
    return this.#blocks.get(listingId)
  }

  /** @throws Error for a criterion whose path the index lacks */
  query(asked: IndexQuery): IndexPage {
    const { total, found: rows } = this.#find(asked, (block, slot) => block.entry(slot))
    return { total, rows }
  }

  ids(asked: IndexQuery): { total: number; listingIds: string[] } {
    const { total, found: listingIds } = this.#find(asked, (block, slot) => block.listingIdOf(slot))
    return { total, listingIds }
  }

  /** Newest first. Despite changes, untouched rows come once, and none that keeps its place comes twice. */
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

  entriesOf(publisherId: number): Generator<IndexRow> {
    return this.entries({ ...EVERYTHING, publisherId })
  }

  /** `null`: every status. */
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
