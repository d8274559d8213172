import type { Clock } from '../../domain/clock.ts'
import type { MissingSource } from '../../domain/missing-source.ts'
import type { ListingQuery } from '../../domain/query.ts'
import type { Range, Reading, Source, SourceMode } from '../../domain/reading.ts'
import { SourceError } from '../../domain/source-error.ts'
import { isRefusal } from '../../domain/source-reason.ts'
import type { SourceDetails } from '../../domain/source-status.ts'
import type { UpstreamOptions } from '../../domain/upstream.ts'
import type { HeldSnapshot, SnapshotPuller } from './puller.ts'

/** An older snapshot has missed a whole pull. */
const STALE_PERIODS = 2

type SnapshotSourceOptions = {
  upstream: Pick<UpstreamOptions, 'name' | 'refreshSeconds'>
  puller: SnapshotPuller
  live: Source
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
    return this.#options.puller.exceedsLimit ? 'live' : 'snapshot'
  }

  readonly read: Source = (query, range, signal) =>
    this.#canAnswer(query) || this.#holds(query)
      ? this.#readHeld(query, range)
      : this.#options.live(query, range, signal)

  status(live: SourceDetails): SourceDetails {
    const { current, failure, exceedsLimit, lastError } = this.#options.puller
    const { missing, ...rest } = live
    const status = { ...rest, mode: this.mode, lastError: lastError ?? live.lastError }
    if (exceedsLimit) return missing === undefined ? status : { ...status, missing }
    const state = failure === null ? 'not_yet_loaded' : 'unavailable'
    if (current === null || (failure !== null && isRefusal(failure.reason)))
      return { ...status, state, ageSeconds: null, listings: null }
    return {
      ...status,
      state: this.#isStale(current) ? 'stale' : 'loaded',
      ageSeconds: this.#ageSeconds(current),
      listings: current.snapshot.listings.size,
      ...this.#missing(current),
    }
  }

  #canAnswer({ status, publisher, listingId }: ListingQuery): boolean {
    const { current, exceedsLimit } = this.#options.puller
    if (status !== 'open' || exceedsLimit || listingId !== undefined) return false
    return publisher === null || current?.snapshot.knowsPublishers === true
  }

  #holds(query: ListingQuery): boolean {
    const { current, exceedsLimit } = this.#options.puller
    if (exceedsLimit || query.listingId === undefined || this.#passedThrough(query)) return false
    return current?.snapshot.listings.has(query.listingId) === true
  }

  async #readHeld(query: ListingQuery, range: Range): Promise<Reading> {
    const { upstream, puller, requireSchema } = this.#options
    requireSchema()
    const { current, failure } = puller
    if (current === null)
      throw failure ?? new SourceError('not_yet_loaded', `${upstream.name}: the first pull has not ended`)
    if (failure !== null && isRefusal(failure.reason)) throw failure
    if (this.#passedThrough(query))
      throw new SourceError('loop', `${upstream.name}: the question has passed through it`)
    const stale = this.#isStale(current)
    const reason = stale ? failure?.reason : undefined
    const { invalid } = current
    return {
      ...(await current.snapshot.read(query, range)),
      asOf: current.takenAt,
      stale,
      cache: { outcome: stale ? 'stale' : 'hit', ttlSeconds: Math.round(this.#ttlSeconds(current)) },
      isCurrent: currency(puller, current, stale, this.#staleAt(current)),
      ...(reason === undefined ? {} : { reason }),
      ...(invalid === 0 ? {} : { invalid }),
      ...this.#missing(current),
    }
  }

  /** The pulled gateway would get its own listings back. */
  #passedThrough({ via }: ListingQuery): boolean {
    const gatewayId = this.#options.puller.current?.gatewayId
    return gatewayId !== undefined && via?.includes(gatewayId) === true
  }

  #missing({ missing }: HeldSnapshot): { missing?: readonly MissingSource[] } {
    if (missing === undefined) return {}
    const now = this.#options.clock.now()
    return {
      missing: missing.map(({ heardAt, ...entry }) =>
        heardAt === undefined ? entry : { ...entry, ageSeconds: Math.max(0, now - heardAt) / 1000 },
      ),
    }
  }

  /** 0 for a snapshot of the future: the clock was set back. */
  #ageSeconds({ takenAt }: HeldSnapshot): number {
    return Math.max(0, this.#options.clock.now() - takenAt) / 1000
  }

  #staleAt({ takenAt }: HeldSnapshot): number {
    return takenAt + STALE_PERIODS * this.#options.upstream.refreshSeconds * 1000
  }

  #ttlSeconds(held: HeldSnapshot): number {
    return (this.#staleAt(held) - this.#options.clock.now()) / 1000
  }

  #isStale(held: HeldSnapshot): boolean {
    const now = this.#options.clock.now()
    return held.isRestored || now < held.takenAt || now > this.#staleAt(held)
  }
}

/** Outside of the class: a closure in a method would keep the query alive. */
function currency(
  puller: SnapshotPuller,
  held: HeldSnapshot,
  stale: boolean,
  staleAt: number,
): (now?: number) => boolean {
  const { version } = held.snapshot
  return (now = held.takenAt) =>
    puller.current === held && held.snapshot.version === version && (stale || now <= staleAt)
}
