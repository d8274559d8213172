import type { Clock } from '../../domain/clock.ts'
import type { ListingQuery } from '../../domain/query.ts'
import type { Reading, ReadingInfo, Source, SourceMode } from '../../domain/source/reading.ts'
import type { Select } from '../../domain/source/selection.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { isRefusal } from '../../domain/source/source-reason.ts'
import type { SourceDetails } from '../../domain/source/source-status.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import type { HeldSnapshot, SnapshotState } from './puller.ts'
import type { Snapshot } from './snapshot.ts'

/** An older snapshot has missed a whole pull. */
const STALE_PERIODS = 2

type SnapshotSourceOptions = {
  upstream: Pick<UpstreamOptions, 'name' | 'refreshSeconds'>
  state: SnapshotState
  live: { read: Source; select: Select }
  requireSchema: () => void
  clock: Clock
}

/**
 * Answers from memory, also to `no-cache`. Reads live for other statuses, for a publisher while some are
 * unknown, and while the snapshot is too large. After a 401 or 403 nothing is shown.
 */
export class SnapshotSource {
  readonly #options: SnapshotSourceOptions

  constructor(options: SnapshotSourceOptions) {
    this.#options = options
  }

  get mode(): SourceMode {
    return this.#options.state.exceedsLimit ? 'live' : 'snapshot'
  }

  readonly read: Source = async (query, range, signal) => {
    if (!this.#canAnswer(query)) return this.#options.live.read(query, range, signal)
    const { snapshot, info } = this.#current(query)
    return { ...(await snapshot.read(query, range)), ...info }
  }

  readonly select: Select = async (query, signal) => {
    if (!this.#canAnswer(query)) return this.#options.live.select(query, signal)
    const { snapshot, info } = this.#current(query)
    return { ...(await snapshot.select(query)), ...info }
  }

  status(live: SourceDetails): SourceDetails {
    const { current, failure, exceedsLimit, lastError } = this.#options.state
    const status = { ...live, mode: this.mode, lastError: lastError ?? live.lastError }
    if (exceedsLimit) return status
    if (current === null || (failure !== null && isRefusal(failure.reason))) {
      const state = failure === null ? 'not_yet_loaded' : 'unavailable'
      return { ...status, state, ageSeconds: null, listings: null, missing: undefined }
    }
    return {
      ...status,
      state: this.#isStale(current) ? 'stale' : 'loaded',
      ageSeconds: this.#secondsSince(current.takenAt),
      listings: current.snapshot.listings.size,
      missing: this.#missing(current),
    }
  }

  #canAnswer(query: ListingQuery): boolean {
    const { status, publisher, listingId } = query
    const { current, exceedsLimit } = this.#options.state
    if (exceedsLimit) return false
    if (listingId !== undefined)
      return !this.#hasPassed(query) && current?.snapshot.listings.has(listingId) === true
    return status === 'open' && (publisher === null || current?.snapshot.knowsPublishers === true)
  }

  /** @throws SourceError while there is no snapshot to be shown */
  #current(query: ListingQuery): { snapshot: Snapshot; info: Omit<ReadingInfo, 'total'> } {
    const { upstream, state, requireSchema, clock } = this.#options
    requireSchema()
    const { current, failure } = state
    if (current === null)
      throw failure ?? new SourceError('not_yet_loaded', `${upstream.name}: the first pull has not ended`)
    if (failure !== null && isRefusal(failure.reason)) throw failure
    if (this.#hasPassed(query))
      throw new SourceError('loop', `${upstream.name}: the query has passed through it`)
    const stale = this.#isStale(current)
    const staleAt = this.#staleAt(current)
    const info = {
      asOf: current.takenAt,
      stale,
      cache: { outcome: stale ? 'stale' : 'hit', ttlSeconds: Math.round((staleAt - clock.now()) / 1000) },
      isCurrent: currency(state, current, stale, staleAt),
      reason: stale ? failure?.reason : undefined,
      invalid: current.invalid || undefined,
      missing: this.#missing(current),
    } as const
    return { snapshot: current.snapshot, info }
  }

  /** The pulled gateway would get its own listings back. */
  #hasPassed({ via }: ListingQuery): boolean {
    const gatewayId = this.#options.state.current?.gatewayId
    return gatewayId !== undefined && via?.includes(gatewayId) === true
  }

  #missing({ missing }: HeldSnapshot): Reading['missing'] {
    return missing?.map(({ heardAt, ...entry }) =>
      heardAt === undefined ? entry : { ...entry, ageSeconds: this.#secondsSince(heardAt) },
    )
  }

  /** 0 for a time in the future: the clock was set back. */
  #secondsSince(time: number): number {
    return Math.max(0, this.#options.clock.now() - time) / 1000
  }

  #staleAt({ takenAt }: HeldSnapshot): number {
    return takenAt + STALE_PERIODS * this.#options.upstream.refreshSeconds * 1000
  }

  #isStale(current: HeldSnapshot): boolean {
    const now = this.#options.clock.now()
    return current.isRestored || now < current.takenAt || now > this.#staleAt(current)
  }
}

/** Outside of the class: a closure in a method would keep the query alive. */
function currency(
  state: SnapshotState,
  current: HeldSnapshot,
  stale: boolean,
  staleAt: number,
): (now?: number) => boolean {
  const { version } = current.snapshot
  return (now = current.takenAt) =>
    state.current === current && current.snapshot.version === version && (stale || now <= staleAt)
}
