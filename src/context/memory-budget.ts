import type { LruCache } from '../cache/lru.ts'
import type { StoredRun } from '../upstream/reading/stored-run.ts'

/** Least share of `cache.max_bytes` for the runs, whatever the snapshots take. */
const MIN_RUNS_SHARE = 0.25
/** Share for the text of a snapshot: during a pull, the next one is held beside it. */
const SNAPSHOT_TEXT_SHARE = 0.5
/** Resizes the cache when the snapshots' memory has changed by this share. */
const RESIZE_STEP = 0.05

/** Divides `cache.max_bytes` between the snapshots and the cache of runs. */
export class MemoryBudget {
  readonly #runs: LruCache<StoredRun>
  #maxBytes: number
  #upstreams: number
  readonly #held = new Map<object, number>()
  #reserved = 0

  constructor(runs: LruCache<StoredRun>, maxBytes: number, upstreams: number) {
    this.#runs = runs
    this.#maxBytes = maxBytes
    this.#upstreams = upstreams
  }

  configure(maxBytes: number, upstreams: number): void {
    this.#maxBytes = maxBytes
    this.#upstreams = upstreams
    this.#resize(true)
  }

  get maxSnapshotBytes(): number {
    return Math.floor((this.#maxBytes / Math.max(1, this.#upstreams)) * SNAPSHOT_TEXT_SHARE)
  }

  get maxSharedBytes(): number {
    return Math.floor(this.#maxBytes / Math.max(1, this.#upstreams))
  }

  hold(holder: object, bytes: number): void {
    if (bytes === 0) this.#held.delete(holder)
    else this.#held.set(holder, bytes)
    this.#resize(false)
  }

  #resize(isForced: boolean): void {
    const held = this.#held.values().reduce((sum, bytes) => sum + bytes, 0)
    if (!isForced && Math.abs(held - this.#reserved) < this.#maxBytes * RESIZE_STEP) return
    this.#reserved = held
    this.#runs.resize(Math.max(this.#maxBytes * MIN_RUNS_SHARE, this.#maxBytes - held))
  }
}
