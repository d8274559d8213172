import { type PackedListings, unpackListings } from '../domain/packed-listings.ts'
import type { BlockParts } from '../listing-index/block.ts'
import { BlockThreads, blockThreads } from './block-threads.ts'
import type { Projection } from './projection.ts'

/** A block is closed before its listings take more than this, which bounds what waits for the threads. */
const MAX_BLOCK_BYTES = 64 * 1024 * 1024
/** Blocks that wait for each thread, so that none waits for pages. */
const AHEAD = 1

/**
 * Fills a projection with a store's listings. Of more than one block's worth, threads build the blocks while the store
 * is read; few listings are put one by one, which is sooner done than starting a thread.
 */
export class BlockLoad {
  readonly #projection: Projection
  readonly #threads: number
  #started: BlockThreads | null = null
  /** What has come for the next block. */
  #pages: PackedListings[] = []
  #count = 0
  #bytes = 0
  /** Blocks that are being built, oldest first. */
  readonly #building: Promise<BlockParts>[] = []

  constructor(projection: Projection, threads = blockThreads()) {
    this.#projection = projection
    this.#threads = threads
  }

  /** Resolves when more can come. */
  async take(page: PackedListings): Promise<void> {
    if (this.#threads === 0) this.#put(page)
    else await this.#collect(page)
  }

  /** Resolves when the projection holds everything that came. */
  async finish(): Promise<void> {
    if (this.#started === null) await this.#putAll()
    else await this.#build()
    while (this.#building.length > 0) await this.#adopt()
  }

  async close(): Promise<void> {
    await this.#started?.close()
  }

  async #collect(page: PackedListings): Promise<void> {
    const isTooMuch =
      this.#count + page.count > this.#projection.listings.plan.slots ||
      this.#bytes + page.bytes.length > MAX_BLOCK_BYTES
    if (isTooMuch && this.#count > 0) await this.#build()
    this.#pages.push(page)
    this.#count += page.count
    this.#bytes += page.bytes.length
  }

  async #build(): Promise<void> {
    this.#started ??= new BlockThreads(this.#threads, this.#projection.blockSetting)
    const building = this.#started.build(this.#pages)
    building.catch(() => {}) // told to whoever adopts it
    this.#building.push(building)
    this.#pages = []
    this.#count = 0
    this.#bytes = 0
    if (this.#building.length > this.#threads * (1 + AHEAD)) await this.#adopt()
  }

  async #adopt(): Promise<void> {
    const block = await this.#building.shift()!
    for (const _step of this.#projection.listings.adopt(block)) await new Promise(setImmediate)
  }

  /** The event loop gets a turn between two pages. */
  async #putAll(): Promise<void> {
    for (const [n, page] of this.#pages.entries()) {
      if (n > 0) await new Promise(setImmediate)
      this.#put(page)
    }
  }

  #put(page: PackedListings): void {
    for (const record of unpackListings(page)) this.#projection.apply({ kind: 'listing', record })
  }
}
