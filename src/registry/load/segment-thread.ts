import { once } from 'node:events'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { SegmentData } from '../../listing-index/segment.ts'
import type { Row } from '../../store/rows.ts'
import type { ThreadSettings } from './build-segment.ts'

/** Beside this file, as source or compiled. */
export const WORKER_FILE = new URL(`./build-segment-worker${extname(import.meta.filename)}`, import.meta.url)

/** A thread that builds segments in the order in which it receives their rows. */
export class SegmentThread {
  readonly #worker: Worker
  readonly #building: PromiseWithResolvers<SegmentData>[] = []
  #failure: Error | null = null

  /** Rejects if the system has no thread, memory or file descriptor left for it. */
  static async start(file: URL, settings: ThreadSettings): Promise<SegmentThread> {
    const worker = new Worker(file, { workerData: settings })
    await once(worker, 'message') // its module is loaded
    return new SegmentThread(worker)
  }

  private constructor(worker: Worker) {
    this.#worker = worker
    worker.on('message', (segment: SegmentData) => this.#building.shift()?.resolve(segment))
    worker.on('error', (cause: Error) =>
      this.#fail(new Error(`A segment could not be built: ${cause.message}`, { cause })),
    )
    worker.on('exit', (code) =>
      this.#fail(new Error(`A thread that builds segments ended with code ${code}`)),
    )
  }

  /** Rejects with the error that ended the thread. */
  build(rows: readonly Row[]): Promise<SegmentData> {
    const segment = Promise.withResolvers<SegmentData>()
    if (this.#failure !== null) segment.reject(this.#failure)
    else {
      this.#building.push(segment)
      this.#worker.postMessage(rows)
    }
    return segment.promise
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  #fail(cause: Error): void {
    this.#failure ??= cause
    for (const segment of this.#building.splice(0)) segment.reject(cause)
  }
}
