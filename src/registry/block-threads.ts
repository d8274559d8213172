import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { Piscina } from 'piscina'
import type { PackedListings } from '../domain/packed-listings.ts'
import type { BlockParts } from '../listing-index/block.ts'
import { buffersIn } from './buffers-in.ts'
import type { BlockSetting } from './build-block.ts'

type TransferList = NonNullable<NonNullable<Parameters<Piscina['run']>[1]>['transferList']>

/** More of them would wait for the one thread that reads the store. */
const MAX_THREADS = 4

/** None where there is only one core: the thread that reads builds as well, then. */
export const blockThreads = (cores = availableParallelism()): number =>
  cores === 1 ? 0 : Math.min(cores, MAX_THREADS)

/** Threads that build blocks, for the time of one load. */
export class BlockThreads {
  readonly #pool: Piscina<readonly PackedListings[], BlockParts>

  constructor(threads: number, setting: BlockSetting) {
    this.#pool = new Piscina({
      // The worker stands beside this file, whether that is a source or built.
      filename: new URL(`./build-block-worker${extname(import.meta.filename)}`, import.meta.url).href,
      minThreads: threads,
      maxThreads: threads,
      workerData: setting,
    })
  }

  /** The pages must not be used any more. */
  build(pages: readonly PackedListings[]): Promise<BlockParts> {
    return this.#pool.run(pages, { transferList: buffersIn(pages) as TransferList })
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }
}
