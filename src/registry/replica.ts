import { type Clock, systemClock } from '../domain/clock.ts'
import type { Publisher } from '../domain/publisher.ts'
import type { Filter } from '../filter-spec/filter.ts'
import type { Position, Store } from '../store/store.ts'
import { type Loaded, loadProjection } from './load-projection.ts'
import type { Projection } from './projection.ts'

/** Changes read in one go. */
const BATCH = 250
/** Wait before the first new try of a reading that failed, in ms; doubled each time. */
const FIRST_RETRY = 100
/** Longest wait between two tries, in ms. */
const MAX_RETRY = 2000
/** Wait before the changelog is read without a notification, in ms: a notification can be lost. */
const POLL_INTERVAL = 10_000
/** How old the latest reading of the changelog may be for the projection to count as current, in ms. */
const MAX_UNHEARD = 60_000

type ReplicaOptions = {
  /** By whose paths listings are indexed. */
  filters: readonly Filter[]
  /** Called once when reading the changelog begins to fail; it is tried again until it succeeds. */
  onFault: (cause: unknown) => void
  /** Called when it succeeds again. */
  onRecovery?: () => void
  /** Called for each thread of a load that could not be started or broke off. */
  onWorkerFault?: (cause: unknown) => void
  /** Default: the system's. */
  clock?: Clock
}

/** Keeps a `Projection` of the store current by following its changelog. */
export class Replica {
  /** Replaced as a whole when the changelog was lost and everything had to be loaded again. */
  projection: Projection
  readonly #store: Store
  readonly #options: ReplicaOptions
  readonly #clock: Clock
  readonly #stopListening: () => void
  #position: Position
  #running: Promise<void> | null = null
  #next: Promise<void> | null = null
  /** Readings that have failed since the last that went well. */
  #failures = 0
  /** The next reading that no notification sets off. */
  #cancelReading: (() => void) | null = null
  /** When the latest successful reading began. */
  #heardAt: number
  #closed = false
  #other: Replica | null = null

  /**
   * Loads everything, then follows. Rejects when the load fails.
   * @param signal gives the load up
   */
  static async open(store: Store, options: ReplicaOptions, signal?: AbortSignal): Promise<Replica> {
    const clock = options.clock ?? systemClock
    const begun = clock.now()
    const loaded = await loadProjection(store, options.filters, signal, options.onWorkerFault)
    return new Replica(store, { ...options, clock }, loaded, begun)
  }

  private constructor(
    store: Store,
    options: ReplicaOptions & { clock: Clock },
    { projection, position }: Loaded,
    begun: number,
  ) {
    this.#store = store
    this.#options = options
    this.#clock = options.clock
    this.projection = projection
    this.#position = position
    this.#heardAt = begun
    this.#stopListening = store.onChange(() => this.#catchUpUnasked())
    this.#catchUpUnasked() // a long load is out of date
  }

  /** From now on `catchUp` resolves when it can be read there as well; `null` ends that. */
  alsoCatchUp(other: Replica | null): void {
    this.#other = other
  }

  /** Whether the changelog was read within `MAX_UNHEARD`: older revocations of keys are known here. */
  isCurrent(): boolean {
    const age = this.#clock.now() - this.#heardAt
    return age >= 0 && age <= MAX_UNHEARD
  }

  /** Resolves when everything that was changed before this call can be read here. Shared by all who wait. */
  async catchUp(): Promise<void> {
    await Promise.all([this.#catchUp(), this.#other?.catchUp()])
  }

  #catchUp(): Promise<void> {
    if (this.#running === null) {
      this.#running = this.#follow().finally(() => {
        this.#running = null
      })
      return this.#running
    }
    // The run under way may have read the changelog already, so these callers share the one behind it.
    this.#next ??= this.#running
      .catch(() => {}) // its own callers are told
      .then(() => {
        this.#next = null
        return this.#catchUp()
      })
    return this.#next
  }

  /** A listing's publisher. One that is not known here yet may be known to the store, so that is asked first. */
  async ownerOf(listingId: string): Promise<Publisher | null> {
    const known = this.projection.ownerOf(listingId)
    if (known !== null) return known
    await this.catchUp()
    return this.projection.ownerOf(listingId)
  }

  close(): void {
    this.#closed = true
    this.#stopListening()
    this.#cancelReading?.()
    this.#other = null
  }

  async #follow(): Promise<void> {
    try {
      let begun: number
      do begun = this.#clock.now()
      while (await this.#readOn())
      this.#heardAt = begun
      if (this.#failures > 0) this.#options.onRecovery?.()
      this.#failures = 0
      this.#readAfter(POLL_INTERVAL)
    } catch (cause) {
      this.#failed(cause)
      throw cause
    }
  }

  /** Takes in one batch; whether there may be more. */
  async #readOn(): Promise<boolean> {
    const read = await this.#store.changesAfter(this.#position, BATCH)
    if (read === 'lost') {
      const { projection, position } = await loadProjection(
        this.#store,
        this.#options.filters,
        undefined,
        this.#options.onWorkerFault,
      )
      this.projection = projection
      this.#position = position
      return true
    }
    for (const change of read.changes) this.projection.apply(change)
    this.#position = read.position
    return read.changes.length === BATCH
  }

  /** No further change may come to set off another reading, so one is due anyway. */
  #failed(cause: unknown): void {
    if (this.#closed) return
    if (this.#failures === 0) this.#options.onFault(cause)
    const delay = Math.min(FIRST_RETRY * 2 ** this.#failures, MAX_RETRY)
    this.#failures++
    this.#readAfter(delay)
  }

  #readAfter(ms: number): void {
    this.#cancelReading?.()
    this.#cancelReading = this.#closed ? null : this.#clock.after(ms, () => this.#catchUpUnasked())
  }

  #catchUpUnasked(): void {
    this.#catchUp().catch(() => {}) // a failure was reported, and is tried again
  }
}
