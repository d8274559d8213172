import type { LruCache } from '../cache/lru.ts'
import type { StoredRun } from '../upstream/reading/stored-run.ts'

/** The runs keep at least this share of `cache.max_bytes`, whatever the snapshots take. */
const MIN_RUNS_SHARE = 0.25
/** Part of an upstream's share that the text of its snapshot may take: beside it, a pull holds the next one. */
const SNAPSHOT_TEXT_SHARE = 0.5
/** The cache is resized when the memory of the snapshots has changed by this share. */
const RESIZE_STEP = 0.05

/** `cache.max_bytes` divided between the snapshots of the upstreams and the cache of runs. */
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

  /** Another configuration applies from now on. */
  configure(maxBytes: number, upstreams: number): void {
    this.#maxBytes = maxBytes
    this.#upstreams = upstreams
    this.#resize(true)
  }

  /** Most bytes of listings that one snapshot may hold. */
  get maxSnapshotBytes(): number {
    return Math.floor((this.#maxBytes / Math.max(1, this.#upstreams)) * SNAPSHOT_TEXT_SHARE)
  }

  /** Most memory of Redis for one upstream. */
  get maxSharedBytes(): number {
    return Math.floor(this.#maxBytes / Math.max(1, this.#upstreams))
  }

  /** @param bytes memory that the snapshot of `holder` keeps alive; 0 for none */
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
