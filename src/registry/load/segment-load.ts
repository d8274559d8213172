import { availableParallelism } from 'node:os'
import type { PackedListings } from '../../domain/listing.ts'
import { inTurns } from '../../domain/turns.ts'
import type { SegmentData } from '../../listing-index/segment.ts'
import type { Projection } from '../projection.ts'
import { buildSegment, settingsForThread } from './build-segment.ts'
import { SegmentThread, WORKER_FILE } from './segment-thread.ts'

/** Bounds the memory of pages that wait for the threads. */
const MAX_SEGMENT_BYTES = 64 * 1024 * 1024
/** Segments queued per thread, so that no thread waits for pages. */
const QUEUED_PER_THREAD = 1
/** More threads would wait for the one that reads the store. */
const MAX_THREADS = 4

export type SegmentLoadOptions = {
  threads?: number
  /** Module of the threads. */
  file?: URL
  /** Called for each thread that could not be started. */
  onFault?: ((cause: unknown) => void) | undefined
}

/** None with one core: the reading thread builds as well. */
function usualThreads(cores = availableParallelism()): number {
  return cores === 1 ? 0 : Math.min(cores, MAX_THREADS)
}

/** `segment` is `null` where this thread builds it. */
type Pending = { pages: readonly PackedListings[]; segment: Promise<SegmentData> | null }

/** Threads build the segments of a large load; a small load is faster without starting a thread. */
export class SegmentLoad {
  readonly #projection: Projection
  readonly #options: SegmentLoadOptions
  readonly #maxThreads: number
  /** `null` before the first segment is full. Without any thread, this one builds. */
  #threads: readonly SegmentThread[] | null = null
  #built = 0
  #pages: PackedListings[] = []
  #count = 0
  #bytes = 0
  /** Oldest first. */
  readonly #pending: Pending[] = []

  constructor(projection: Projection, options: SegmentLoadOptions = {}) {
    this.#projection = projection
    this.#options = options
    this.#maxThreads = options.threads ?? usualThreads()
  }

  async take(page: PackedListings): Promise<void> {
    const isTooMuch =
      this.#count + page.count > this.#projection.segmentSettings.plan.rows ||
      this.#bytes + page.bytes.length > MAX_SEGMENT_BYTES
    if (isTooMuch && this.#count > 0) {
      this.#threads ??= await this.#startThreads()
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
    await Promise.all(this.#threads?.map((thread) => thread.close()) ?? [])
  }

  async #startThreads(): Promise<readonly SegmentThread[]> {
    const { file = WORKER_FILE, onFault } = this.#options
    const { segmentSettings, tables } = this.#projection
    const settings = settingsForThread(segmentSettings, tables)
    const starting = Array.from({ length: this.#maxThreads }, () => SegmentThread.start(file, settings))
    const threads: SegmentThread[] = []
    for (const start of await Promise.allSettled(starting)) {
      if (start.status === 'fulfilled') threads.push(start.value)
      else onFault?.(start.reason)
    }
    return threads
  }

  async #build(): Promise<void> {
    const pages = this.#pages
    const threads = this.#threads ?? []
    const segment = threads[this.#built++ % threads.length]?.build(pages) ?? null
    segment?.catch(() => {}) // `#adopt` handles the failure
    this.#pending.push({ pages, segment })
    this.#pages = []
    this.#count = 0
    this.#bytes = 0
    if (this.#pending.length > threads.length * (1 + QUEUED_PER_THREAD)) await this.#adopt()
  }

  async #adopt(): Promise<void> {
    const { pages, segment } = this.#pending.shift()!
    const settings = this.#projection.segmentSettings
    const { plan } = settings
    const data = await (segment ?? inTurns(buildSegment(settings, pages)))
    const { index, source } = this.#projection
    await inTurns(index.adopt(source, data, plan))
  }
}
