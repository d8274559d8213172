import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import type { PackedListings } from '../../domain/listing.ts'
import type { SegmentData } from '../../listing-index/segment.ts'
import type { Projection } from '../projection.ts'
import { WorkerPool, type WorkerPoolOptions } from '../worker-pool.ts'
import { buffersIn, buildSegment } from './build-segment.ts'

/** Bounds the memory of pages that wait for the threads. */
const MAX_SEGMENT_BYTES = 64 * 1024 * 1024
/** Segments queued per thread, so that no thread waits for pages. */
const QUEUED_PER_THREAD = 1
/** More threads would wait for the one that reads the store. */
const MAX_THREADS = 4

export type SegmentLoadOptions = Partial<Pick<WorkerPoolOptions, 'file' | 'threads' | 'onFault'>>

/** None with one core: the reading thread builds as well. */
function usualThreads(cores = availableParallelism()): number {
  return cores === 1 ? 0 : Math.min(cores, MAX_THREADS)
}

/** `segment` is `null` where this thread builds it. */
type Pending = { pages: readonly PackedListings[]; segment: Promise<SegmentData> | null }

/** Threads build the segments of a large load; a small load is faster without starting a thread. */
export class SegmentLoad {
  readonly #projection: Projection
  readonly #options: SegmentLoadOptions & { threads: number }
  #pool: WorkerPool<readonly PackedListings[], SegmentData> | null = null
  /** Set when no thread could be started. */
  #isAlone = false
  #pages: PackedListings[] = []
  #count = 0
  #bytes = 0
  /** Oldest first. */
  readonly #pending: Pending[] = []

  constructor(projection: Projection, options: SegmentLoadOptions = {}) {
    this.#projection = projection
    this.#options = { threads: usualThreads(), ...options }
  }

  async take(page: PackedListings): Promise<void> {
    const isTooMuch =
      this.#count + page.count > this.#projection.listings.plan.rows ||
      this.#bytes + page.bytes.length > MAX_SEGMENT_BYTES
    if (isTooMuch && this.#count > 0) {
      if (this.#options.threads > 0) this.#pool ??= this.#openPool()
      await this.#build()
    }
    this.#pages.push(page)
    this.#count += page.count
    this.#bytes += page.bytes.length
  }

  async finish(): Promise<void> {
    if (this.#count > 0) await this.#build()
    while (this.#pending.length > 0) await this.#adopt()
  }

  async close(): Promise<void> {
    await this.#pool?.close()
  }

  async #build(): Promise<void> {
    const pages = this.#pages
    const segment = this.#pool === null || this.#isAlone ? null : this.#pool.run(pages, buffersIn(pages))
    segment?.catch(() => {}) // `#adopt` handles the failure
    this.#pending.push({ pages, segment })
    this.#pages = []
    this.#count = 0
    this.#bytes = 0
    if (this.#pending.length > this.#options.threads * (1 + QUEUED_PER_THREAD)) await this.#adopt()
  }

  #openPool(): WorkerPool<readonly PackedListings[], SegmentData> {
    return new WorkerPool({
      // Beside this file, as source or compiled.
      file: new URL(`./build-segment-worker${extname(import.meta.filename)}`, import.meta.url),
      workerData: this.#projection.segmentSettings,
      ...this.#options,
    })
  }

  async #adopt(): Promise<void> {
    const { pages, segment } = this.#pending.shift()!
    const built = segment === null ? null : await this.#built(pages, segment)
    const data = built ?? (await inTurns(buildSegment(this.#projection.segmentSettings, pages)))
    await inTurns(this.#projection.listings.adopt(data))
  }

  /** `null` where no thread took it. */
  async #built(pages: readonly PackedListings[], segment: Promise<SegmentData>): Promise<SegmentData | null> {
    try {
      return await segment
    } catch (cause) {
      if (pages.some(({ bytes }) => bytes.buffer.detached)) throw cause
      this.#isAlone = true
      return null
    }
  }
}

/** One step per turn of the event loop. */
async function inTurns<T>(steps: Generator<unknown, T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await new Promise(setImmediate)
  }
}
