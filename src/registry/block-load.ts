import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { type PackedListings, unpackListings } from '../domain/listing.ts'
import type { BlockParts } from '../listing-index/block.ts'
import { buffersIn } from './buffers-in.ts'
import type { Projection } from './projection.ts'
import { WorkerPool, type WorkerPoolOptions } from './worker-pool.ts'

/** Bounds the memory of blocks that wait for the threads. */
const MAX_BLOCK_BYTES = 64 * 1024 * 1024
/** Blocks queued per thread, so that no thread waits for pages. */
const AHEAD = 1
/** More threads would wait for the one that reads the store. */
const MAX_THREADS = 4

export type BlockLoadOptions = Partial<Pick<WorkerPoolOptions, 'file' | 'threads' | 'onFault'>>

/** None with one core: the reading thread builds as well. */
const blockThreads = (cores = availableParallelism()): number =>
  cores === 1 ? 0 : Math.min(cores, MAX_THREADS)

/** `block` is `null` where this thread adds the listings itself. */
type Building = { pages: readonly PackedListings[]; block: Promise<BlockParts> | null }

/** Threads build the blocks of a large load; a small load is faster without starting a thread. */
export class BlockLoad {
  readonly #projection: Projection
  readonly #options: BlockLoadOptions & { threads: number }
  #pool: WorkerPool<readonly PackedListings[], BlockParts> | null = null
  #isAlone = false
  #pages: PackedListings[] = []
  #count = 0
  #bytes = 0
  /** Oldest first. */
  readonly #building: Building[] = []

  constructor(projection: Projection, options: BlockLoadOptions = {}) {
    this.#projection = projection
    this.#options = { threads: blockThreads(), ...options }
  }

  async take(page: PackedListings): Promise<void> {
    if (this.#options.threads === 0) this.#put(page)
    else await this.#collect(page)
  }

  async finish(): Promise<void> {
    if (this.#pool === null) await this.#putAll(this.#pages)
    else await this.#build()
    while (this.#building.length > 0) await this.#adopt()
  }

  async close(): Promise<void> {
    await this.#pool?.close()
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
    this.#pool ??= this.#openPool()
    const pages = this.#pages
    const block = this.#isAlone ? null : this.#pool.run(pages, buffersIn(pages))
    block?.catch(() => {}) // `#adopt` handles the failure
    this.#building.push({ pages, block })
    this.#pages = []
    this.#count = 0
    this.#bytes = 0
    if (this.#building.length > this.#options.threads * (1 + AHEAD)) await this.#adopt()
  }

  #openPool(): WorkerPool<readonly PackedListings[], BlockParts> {
    return new WorkerPool({
      // Beside this file, as source or compiled.
      file: new URL(`./build-block-worker${extname(import.meta.filename)}`, import.meta.url),
      workerData: this.#projection.blockSetting,
      ...this.#options,
    })
  }

  async #adopt(): Promise<void> {
    const { pages, block } = this.#building.shift()!
    const parts = block === null ? null : await this.#built(pages, block)
    if (parts === null) await this.#putAll(pages)
    else for (const _step of this.#projection.listings.adopt(parts)) await new Promise(setImmediate)
  }

  async #built(pages: readonly PackedListings[], block: Promise<BlockParts>): Promise<BlockParts | null> {
    try {
      return await block
    } catch (cause) {
      if (pages.some(({ bytes }) => bytes.buffer.detached)) throw cause
      this.#isAlone = true
      return null
    }
  }

  async #putAll(pages: readonly PackedListings[]): Promise<void> {
    for (const [n, page] of pages.entries()) {
      if (n > 0) await new Promise(setImmediate)
      this.#put(page)
    }
  }

  #put(page: PackedListings): void {
    for (const record of unpackListings(page)) this.#projection.apply({ kind: 'listing', record })
  }
}
