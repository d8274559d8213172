import { type Clock, systemClock } from '../domain/clock.ts'
import { Emitter } from '../domain/emitter.ts'
import type { Publisher } from '../domain/publisher.ts'
import { SingleFlight } from '../domain/single-flight.ts'
import type { HoldingChange } from '../domain/source/holding.ts'
import type { CopyIndex } from '../listing-index/copy-index.ts'
import type { Change, ChangelogPosition } from '../store/commands.ts'
import type { Store } from '../store/store.ts'
import type { Vocabulary } from '../vocabulary/vocabulary.ts'
import { SegmentLoad } from './load/segment-load.ts'
import { Projection } from './projection.ts'

const BATCH = 250
/** Wait before the first retry of a failed read, in ms; doubles each time. */
const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 2000
/** Longest time between reads, in ms: a notification can be lost. */
const POLL_INTERVAL_MS = 10_000
/** Questions that began before still read what is replaced. */
const LONGEST_QUESTION_MS = 10_000
/** Oldest read of the changelog with which the projection knows all keys, in ms. */
export const MAX_READ_AGE_MS = 60_000

type ReplicaOptions = {
  index: CopyIndex
  /** Of the Registry, as a source. */
  name: string
  vocabulary: Vocabulary
  /** Called once when reads of the changelog begin to fail; they are retried until they succeed. */
  onFault: (cause: unknown) => void
  onRecovery?: () => void
  /** The changelog was lost, and everything is loaded again. */
  onReload?: (listings: { before: number; now: number }) => void
  onWorkerFault?: (cause: unknown) => void
  clock?: Clock
}

type Followed = Pick<Store, 'load' | 'changesAfter' | 'onChange'>

export class Replica {
  /** Replaced when the changelog was lost and everything was loaded again. */
  projection: Projection
  /** Rows of another projection are read. */
  readonly changes = new Emitter<HoldingChange>()
  readonly #blockChanges = new Emitter<void>()
  /** Calls back in the turn in which a block begins or ends. Returns how to stop. */
  readonly onBlock = this.#blockChanges.listen
  readonly #store: Followed
  readonly #options: ReplicaOptions
  readonly #clock: Clock
  readonly #stopListening: () => void
  #position: ChangelogPosition
  readonly #reads = new SingleFlight(() => this.#follow())
  #failures = 0
  #cancelReading: (() => void) | null = null
  /** Start of the latest successful read. */
  #readAt: number
  #closed = false
  #linked: Replica | null = null

  /** Loads everything, then follows. Rejects when the load fails or the signal aborts. */
  static async open(store: Followed, options: ReplicaOptions, signal?: AbortSignal): Promise<Replica> {
    const clock = options.clock ?? systemClock
    const begun = clock.monotonic()
    const loaded = await loadProjection(store, options, signal)
    return new Replica(store, { ...options, clock }, loaded, begun)
  }

  private constructor(
    store: Followed,
    options: ReplicaOptions & { clock: Clock },
    { projection, position }: Loaded,
    begun: number,
  ) {
    this.#store = store
    this.#options = options
    this.#clock = options.clock
    this.projection = projection
    projection.onBlock(() => this.#blockChanges.emit())
    this.#position = position
    this.#readAt = begun
    this.#stopListening = store.onChange(() => this.#catchUpInBackground())
    this.#catchUpInBackground() // a long load is outdated
  }

  /** From now on `catchUp` waits for `other` as well; `null` ends that. */
  linkCatchUp(other: Replica | null): void {
    this.#linked = other
  }

  /** Of the changelog: the projection has every change up to here. */
  get position(): ChangelogPosition {
    return this.#position
  }

  /** Whether changes older than this are known here. */
  isCurrent(maxAgeMs = MAX_READ_AGE_MS): boolean {
    return this.#clock.monotonic() - this.#readAt <= maxAgeMs
  }

  /** Resolves when every change before this call is readable here. Concurrent callers share a read. */
  async catchUp(): Promise<void> {
    await Promise.all([this.#reads.joinNext(), this.#linked?.catchUp()])
  }

  /**
   * Ids of the listings that have changed in the store since a position; `lost` where the changelog does not reach back, or a
   * storefront has moved, which changes all listings of a publisher.
   */
  async changedSince(from: ChangelogPosition): Promise<readonly string[] | 'lost'> {
    const listingIds = new Set<string>()
    for (let position = from, hasMore = true; hasMore; ) {
      const read = await this.#store.changesAfter(position, BATCH)
      if (read === 'lost') return 'lost'
      for (const change of read.changes) {
        if (change.kind === 'listing') listingIds.add(change.record.listingId)
        if (change.kind === 'listing_removed') listingIds.add(change.listingId)
        if (change.kind === 'publisher' && change.publisher.updatedAt > change.publisher.createdAt)
          return 'lost'
      }
      position = read.position
      hasMore = read.hasMore
    }
    return [...listingIds]
  }

  /** Catches up before it answers `null`: the store may know more. */
  async ownerOf(listingId: string): Promise<Publisher | null> {
    const owner = this.projection.ownerOf(listingId)
    if (owner !== null) return owner
    await this.catchUp()
    return this.projection.ownerOf(listingId)
  }

  /** Its rows can still be read. */
  close(): void {
    this.#closed = true
    this.#stopListening()
    this.#cancelReading?.()
    this.#linked = null
  }

  async #follow(): Promise<void> {
    try {
      let begun: number
      do begun = this.#clock.monotonic()
      while (await this.#readBatch())
      this.#readAt = begun
      if (this.#failures > 0) this.#options.onRecovery?.()
      this.#failures = 0
      this.#readAfter(POLL_INTERVAL_MS)
    } catch (cause) {
      this.#failed(cause)
      throw cause
    }
  }

  async #readBatch(): Promise<boolean> {
    const read = await this.#store.changesAfter(this.#position, BATCH)
    if (read === 'lost') {
      const before = this.projection
      const { projection, position } = await loadProjection(this.#store, this.#options)
      this.projection = projection
      projection.onBlock(() => this.#blockChanges.emit())
      this.#blockChanges.emit()
      this.changes.emit({ kind: 'replaced', from: before.source, to: projection.source })
      this.#position = position
      this.#options.onReload?.({ before: before.size, now: projection.size })
      this.#clock.after(LONGEST_QUESTION_MS, () => void before.drop())
      return true
    }
    for (const change of read.changes) this.projection.apply(change)
    this.#position = read.position
    if (!read.hasMore) return false
    await new Promise(setImmediate) // SQLite answers in the same turn of the event loop
    return true
  }

  /** Schedules a read, since no further change may trigger one. */
  #failed(cause: unknown): void {
    if (this.#closed) return
    if (this.#failures === 0) this.#options.onFault(cause)
    const delay = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, MAX_RETRY_MS)
    this.#failures++
    this.#readAfter(delay)
  }

  #readAfter(ms: number): void {
    this.#cancelReading?.()
    this.#cancelReading = this.#closed ? null : this.#clock.after(ms, () => this.#catchUpInBackground())
  }

  #catchUpInBackground(): void {
    this.#reads.joinNext().catch(() => {}) // the failure is reported and retried
  }
}

type Loaded = { projection: Projection; position: ChangelogPosition }

/** Rejects when the store does or the signal aborts. */
async function loadProjection(
  store: Followed,
  { index, name, vocabulary, onWorkerFault }: ReplicaOptions,
  signal?: AbortSignal,
): Promise<Loaded> {
  const projection = new Projection(index, name, vocabulary)
  const load = new SegmentLoad(projection, { onFault: onWorkerFault })
  /** Their pages may wait for a thread. */
  const changed: Change[] = []
  try {
    const position = await store.load({
      change: (change) => {
        signal?.throwIfAborted()
        if (change.kind === 'listing') changed.push(change)
        else projection.apply(change)
      },
      listings: (page) => {
        signal?.throwIfAborted()
        return load.take(page)
      },
    })
    await load.finish()
    for (const change of changed) projection.apply(change)
    return { projection, position }
  } finally {
    await load.close()
  }
}
