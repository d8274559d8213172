import type { Path } from '../filter-spec/path.ts'
import { Block, type BlockParts, type IndexEntry } from './block.ts'
import { pathTree } from './path-tree.ts'
import { RowReader } from './row-reader.ts'

/** What a block of an index is made after, as plain data. */
export type BlockPlan = {
  /** What the columns find, in their order. */
  paths: readonly Path[]
  /** Listings that a block holds at most. */
  slots: number
}

/**
 * Makes a block of listings apart from any index, on another thread for one: `ListingIndex.adopt` takes it in for a
 * small part of the work of making it.
 */
export class BlockBuilder {
  readonly #block: Block
  readonly #reader: RowReader

  /** @param plan of the index that it is for */
  constructor({ paths, slots }: BlockPlan) {
    this.#block = Block.empty(0, { createdAt: 0, listingId: '' }, slots, paths.length)
    this.#reader = new RowReader(pathTree(paths))
  }

  /**
   * @param entry of no other's id, newer than all before it
   * @throws SyntaxError for some bytes that are not JSON
   * @throws RangeError where there is no room
   */
  add(entry: IndexEntry): void {
    if (this.#block.isFull) throw new RangeError('the block is full')
    this.#block.add(entry, this.#reader.read(entry.bytes))
  }

  /**
   * The block, as fast for the first query as for any other. The builder must not be used any more.
   * @throws RangeError where there is no listing, or one was not newer than those before it
   */
  finish(): BlockParts {
    if (this.#block.liveCount === 0) throw new RangeError('a block has at least one listing')
    if (!this.#block.order.isRising) throw new RangeError('the listings of a block come oldest first')
    return this.#block.parts()
  }
}
