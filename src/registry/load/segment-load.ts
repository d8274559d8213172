import { availableParallelism } from 'node:os'
import { inTurns } from '../../domain/turns.ts'
import type { SegmentData } from '../../listing-index/segment.ts'
import type { Row } from '../../store/rows.ts'
import type { Projection } from '../projection.ts'
import { buildSegment, type SegmentSettings, settingsForThread } from './build-segment.ts'
import { SegmentThread, WORKER_FILE } from './segment-thread.ts'

/** Bounds the memory of rows that wait for the threads. */
const MAX_SEGMENT_LENGTH = 64 * 1024 * 1024
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
type Pending = { rows: readonly Row[]; segment: Promise<SegmentData> | null }

/** Threads build the segments of a large load; a small load is faster without starting a thread. */
export class SegmentLoad {
  readonly #projection: Projection
  readonly #options: SegmentLoadOptions
  readonly #maxThreads: number
  /** Of all its segments, whatever the index learns meanwhile: it builds those again itself. */
  #settings: SegmentSettings | null = null
  /** `null` before the first segment is full. Without any thread, this one builds. */
  #threads: readonly SegmentThread[] | null = null
  #built = 0
  #rows: Row[] = []
  /** Of their texts. */
  #length = 0
  /** Oldest first. */
  readonly #pending: Pending[] = []

  constructor(projection: Projection, options: SegmentLoadOptions = {}) {
    this.#projection = projection
    this.#options = options
    this.#maxThreads = options.threads ?? usualThreads()
  }

  async take(page: readonly Row[]): Promise<void> {
    this.#settings ??= this.#projection.segmentSettings
    const length = page.reduce((sum, { value }) => sum + value.length, 0)
    const isTooMuch =
      this.#rows.length + page.length > this.#settings.plan.rows || this.#length + length > MAX_SEGMENT_LENGTH
    if (isTooMuch && this.#rows.length > 0) {
      this.#threads ??= await this.#startThreads()
      await this.#build()
    }
    this.#rows.push(...page)
    this.#length += length
  }

  async finish(): Promise<void> {
    if (this.#rows.length > 0) await this.#build()
    while (this.#pending.length > 0) await this.#adopt()
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads?.map((thread) => thread.close()) ?? [])
  }

  async #startThreads(): Promise<readonly SegmentThread[]> {
    const { file = WORKER_FILE, onFault } = this.#options
    const settings = settingsForThread(this.#settings!, this.#projection.tables)
    const starting = Array.from({ length: this.#maxThreads }, () => SegmentThread.start(file, settings))
    const threads: SegmentThread[] = []
    for (const start of await Promise.allSettled(starting)) {
      if (start.status === 'fulfilled') threads.push(start.value)
      else onFault?.(start.reason)
    }
    return threads
  }

  async #build(): Promise<void> {
    const rows = this.#rows
    const threads = this.#threads ?? []
    const segment = threads[this.#built++ % threads.length]?.build(rows) ?? null
    segment?.catch(() => {}) // `#adopt` handles the failure
    this.#pending.push({ rows: segment === null ? rows : [], segment })
    this.#rows = []
    this.#length = 0
    if (this.#pending.length > threads.length * (1 + QUEUED_PER_THREAD)) await this.#adopt()
  }

  async #adopt(): Promise<void> {
    const { rows, segment } = this.#pending.shift()!
    const settings = this.#settings!
    const data = await (segment ?? inTurns(buildSegment(settings, rows)))
    const { index, source } = this.#projection
    await inTurns(index.adopt(source, data, settings.plan))
  }
}
