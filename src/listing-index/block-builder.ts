import type { Path } from '../filter-spec/path.ts'
import { Block, type BlockParts, type IndexEntry } from './block.ts'
import { pathTree } from './path-tree.ts'
import { RowReader } from './row-reader.ts'

export type BlockPlan = {
  /** One per column, in order. */
  paths: readonly Path[]
  /** Most listings in a block. */
  slots: number
}

/** Builds a block outside any index, such as on another thread, for `ListingIndex.adopt`. */
export class BlockBuilder {
  readonly #block: Block
  readonly #reader: RowReader

  constructor({ paths, slots }: BlockPlan) {
    this.#block = Block.empty(0, { createdAt: 0, listingId: '' }, slots, paths.length)
    this.#reader = new RowReader(pathTree(paths))
  }

  /** New ids only, oldest first. @throws SyntaxError for some invalid JSON; RangeError when it is full */
  add(entry: IndexEntry): void {
    if (this.#block.isFull) throw new RangeError('the block is full')
    this.#block.add(entry, this.#reader.read(entry.bytes))
  }

  /** Packed for queries; the builder is then unusable. @throws RangeError if empty or not oldest first */
  finish(): BlockParts {
    if (this.#block.liveCount === 0) throw new RangeError('a block has at least one listing')
    if (!this.#block.order.isRising) throw new RangeError('the listings of a block come oldest first')
    return this.#block.parts()
  }
}
