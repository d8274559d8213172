import type { Publisher } from '../domain/publisher.ts'
import type { Filter } from '../filter-spec/filter.ts'
import type { Position, Store } from '../store/store.ts'
import { Projection } from './projection.ts'

/** Changes read in one go. */
const BATCH = 1000

/** Keeps a `Projection` of the store current by following its changelog. */
export class Replica {
  /** Replaced as a whole when the changelog was lost and everything had to be loaded again. */
  projection: Projection
  readonly #store: Store
  readonly #filters: readonly Filter[]
  readonly #onFault: (cause: unknown) => void
  readonly #stop: () => void
  #position: Position
  #running: Promise<void> | null = null
  #next: Promise<void> | null = null

  /**
   * Loads everything, then follows.
   * @param onFault told when following fails; the next change or `catchUp` tries again.
   */
  static async open(
    store: Store,
    filters: readonly Filter[],
    onFault: (cause: unknown) => void,
  ): Promise<Replica> {
    const { projection, position } = await load(store, filters)
    return new Replica(store, filters, onFault, projection, position)
  }

  private constructor(
    store: Store,
    filters: readonly Filter[],
    onFault: (cause: unknown) => void,
    projection: Projection,
    position: Position,
  ) {
    this.#store = store
    this.#filters = filters
    this.#onFault = onFault
    this.projection = projection
    this.#position = position
    this.#stop = store.onChange(() => void this.catchUp().catch(this.#onFault))
  }

  /** Resolves when everything that was changed before this call can be read here. Shared by all who wait. */
  catchUp(): Promise<void> {
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
        return this.catchUp()
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
    this.#stop()
  }

  async #follow(): Promise<void> {
    for (;;) {
      const read = await this.#store.changesAfter(this.#position, BATCH)
      if (read === 'lost') {
        const { projection, position } = await load(this.#store, this.#filters)
        this.projection = projection
        this.#position = position
        continue
      }
      for (const change of read.changes) this.projection.apply(change)
      this.#position = read.position
      if (read.changes.length < BATCH) return
    }
  }
}

const load = async (
  store: Store,
  filters: readonly Filter[],
): Promise<{ projection: Projection; position: Position }> => {
  const projection = new Projection(filters)
  const position = await store.load((change) => projection.apply(change))
  return { projection, position }
}
