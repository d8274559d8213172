import type { Clock } from '../../domain/clock.ts'
import type { ListingQuery } from '../../domain/query.ts'
import type { Held } from '../../domain/source/held.ts'
import { DIRECTORY, joinMissing, NOT_OPEN } from '../../domain/source/missing-source.ts'
import {
  hasPassed,
  type Item,
  type Reading,
  type ReadingInfo,
  type Source,
  type SourcePart,
} from '../../domain/source/reading.ts'
import type { Select } from '../../domain/source/selection.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { SourceDetails } from '../../domain/source/source-status.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import type { LookUp } from '../look-up.ts'
import type { PublisherDirectory } from '../publisher-directory.ts'
import { askForOne, isOpen } from './ask-for-one.ts'
import { fullPeriodMs, periodsOf } from './next-pull.ts'
import type { SnapshotPuller } from './puller.ts'
import type { Snapshot } from './snapshot.ts'
import { currentAt, type HeldSnapshot, type SnapshotState } from './snapshot-state.ts'

/** A snapshot is stale when it has missed so many whole pulls, or first pages while they fail. */
const STALE_FULL_PERIODS = 4
const STALE_PERIODS = 2

type SnapshotSourceOptions = {
  upstream: Pick<
    UpstreamOptions,
    'name' | 'kind' | 'refreshSeconds' | 'fullRefreshSeconds' | 'followedRefreshSeconds' | 'maxAgeSeconds'
  >
  state: SnapshotState
  puller: Pick<SnapshotPuller, 'refresh' | 'onRead' | 'remove' | 'arrival'>
  lookUp: LookUp
  publishers: Pick<PublisherDirectory, 'isBehind'>
  requireSchema: () => void
  /** Data of this age answer for one listing, without a request. */
  freshSeconds: number
  clock: Clock
}

type Info = Omit<ReadingInfo, 'total'>

/** What is held, for reports. */
type Holding = Pick<
  SourceDetails,
  | 'state'
  | 'part'
  | 'ageSeconds'
  | 'listings'
  | 'missing'
  | 'bytes'
  | 'followed'
  | 'missedChanges'
  | 'feedFailures'
> &
  Partial<Pick<SourceDetails, 'lastError'>>

/**
 * Answers from memory, with open listings alone: what has arrived so far, or what fits. Only single listings are looked up at the
 * upstream. After a 401 or 403 nothing is shown.
 */
export class SnapshotSource {
  readonly #options: SnapshotSourceOptions

  constructor(options: SnapshotSourceOptions) {
    this.#options = options
  }

  readonly read: Source = async (query, range, signal) => {
    this.#options.puller.onRead()
    if (query.listingId !== undefined) return this.#find({ ...query, listingId: query.listingId }, signal)
    const { snapshot, info } = this.#current(query)
    return { ...info, ...(await snapshot.read(query, range)) }
  }

  readonly select: Select = async (query) => {
    this.#options.puller.onRead()
    const { snapshot, info } = this.#current(query)
    return { ...(await snapshot.select(query)), ...info }
  }

  get held(): Held {
    const { state, puller } = this.#options
    return {
      failure: (query) => this.#failureFor(query),
      find: (listingId) => state.visible?.snapshot.find(listingId) ?? [],
      ids: () => state.visible?.snapshot.listingIds ?? [],
      coverage: () => this.#part()?.state ?? (state.visible === null ? 'none' : 'whole'),
      version: () => state.visible?.snapshot.contents ?? '',
      prepare: (caching, signal) => {
        puller.onRead()
        if (caching === 'no-cache') return puller.refresh(signal)
        const isAwaited = state.current === null && !state.isReady && caching !== 'only-if-cached'
        return isAwaited ? puller.arrival : null
      },
      onChange: state.changes.listen,
      follow: state.changes.follow,
    }
  }

  status(): Holding {
    const { current, visible, failure, lastError, feedDifferences, feedFailures } = this.#options.state
    const about = {
      missedChanges: feedDifferences,
      feedFailures,
      bytes: current?.snapshot.retainedBytes ?? 0,
      ...(lastError && { lastError }),
    }
    if (current === null || visible === null) {
      const state = failure === null ? 'not_yet_loaded' : 'unavailable'
      return { ...about, state, ageSeconds: null, listings: null }
    }
    const part = this.#part()
    return {
      ...about,
      followed: this.#followed(current),
      state: part?.state ?? (this.#isStale(current) ? 'stale' : 'loaded'),
      part,
      ageSeconds: this.#secondsSince(currentAt(current)),
      listings: current.snapshot.size,
      missing: this.#missing(current),
    }
  }

  /** `undefined` where all is held, and where nothing may be shown. */
  #part(): SourcePart | undefined {
    const { visible } = this.#options.state
    if (visible === null) return undefined
    const { snapshot, isLoading, partOf, totals } = visible
    if (partOf === undefined) return undefined
    const held = snapshot.size
    return {
      state: isLoading === true ? 'loading' : 'partial',
      held,
      of: Math.max(held, totals?.total ?? partOf),
    }
  }

  #followed({ heardAt }: HeldSnapshot): SourceDetails['followed'] {
    const isHeard = this.#options.state.isFollowed && heardAt !== undefined
    return isHeard ? { behindSeconds: this.#secondsSince(heardAt) } : undefined
  }

  /** From memory where it has the listing and is fresh; else the upstream is asked, and memory answers where that fails. */
  async #find(query: ListingQuery & { listingId: string }, signal: AbortSignal): Promise<Reading> {
    const { state, lookUp } = this.#options
    const { listingId, ignoresHeld, via } = query
    const copies = this.#hasPassed(query) ? [] : (state.current?.snapshot.find(listingId) ?? [])
    const held = copies.flatMap(({ item }) => (hasPassed(item, via) ? [] : item))
    if (ignoresHeld === true || held.length === 0) return lookUp(query, signal)
    const { info } = this.#current(query)
    const asked = this.#mustAsk(query, info.asOf) ? await this.#askForOne(query, signal) : null
    if (asked !== null) return asked
    return { ...info, part: undefined, listings: held, hasMore: false, total: held.length }
  }

  /**
   * The upstream answers for a single listing, unless what is held is fresh. A gateway is always asked: which of its
   * copies is the best one depends on closed ones, too, and those are not in memory.
   */
  #mustAsk({ caching }: ListingQuery, asOf: number): boolean {
    const { upstream, freshSeconds } = this.#options
    if (caching === 'only-if-cached') return false
    return caching === 'no-cache' || upstream.kind === 'gateway' || this.#secondsSince(asOf) > freshSeconds
  }

  /**
   * Removes a listing from memory that the upstream no longer has, or has with another status. A gateway may show a
   * closed copy while its pages have open copies of worse sources, so such a listing stays.
   */
  async #askForOne(
    query: ListingQuery & { listingId: string },
    signal: AbortSignal,
  ): Promise<Reading | null> {
    const { upstream, lookUp, puller, state, clock } = this.#options
    const reading = await askForOne((ending) => lookUp(query, ending), signal, clock)
    const isGone = (item: Item): boolean => upstream.kind === 'registry' && !isOpen(item)
    if (reading?.listings.every(isGone)) {
      const copies = state.current?.snapshot.find(query.listingId) ?? []
      puller.remove(
        copies.map(({ key }) => key),
        query.listingId,
      )
    }
    return reading
  }

  /** Why what is held must not be shown. */
  #failureFor(query: ListingQuery): SourceError | null {
    const { upstream, state, requireSchema } = this.#options
    const { visible, failure } = state
    if (query.listingId === undefined && query.status !== null && query.status !== 'open')
      return new SourceError('open_only', `${upstream.name}: only its open listings are held`)
    try {
      requireSchema()
    } catch (error) {
      if (error instanceof SourceError) return error
      throw error
    }
    if (visible === null)
      return failure ?? new SourceError('not_yet_loaded', `${upstream.name}: no listing has arrived yet`)
    return this.#hasPassed(query)
      ? new SourceError('loop', `${upstream.name}: the query has passed through it`)
      : null
  }

  /** @throws SourceError while there is no snapshot to be shown */
  #current(query: ListingQuery): { snapshot: Snapshot; info: Info } {
    const { state, puller, publishers } = this.#options
    const cause = this.#failureFor(query)
    if (cause !== null) throw cause
    const { failure } = state
    const current = state.current!
    const { snapshot, ageSeconds = 0, invalid } = current
    const stale = this.#isStale(current)
    const staleAt = this.#staleAt(current)
    const part = this.#part()
    const missing = this.#missing(current)
    const whyPart = part?.state === 'partial' ? 'too_large' : undefined
    // A listing without a known publisher may belong to the publisher of the query.
    const lacksPublishers = query.publisher !== null && !snapshot.knowsPublishers
    const info: Info = {
      asOf: currentAt(current) - ageSeconds * 1000,
      stale,
      freshUntil: staleAt,
      isCurrent: validityOf(state, current, stale ? Number.POSITIVE_INFINITY : staleAt, puller),
      reason: (stale || part?.state === 'loading' ? failure?.reason : undefined) ?? whyPart,
      part,
      isAttributed: snapshot.knowsPublishers || !publishers.isBehind,
      invalid: invalid || undefined,
      missing: [lacksPublishers && DIRECTORY, isOfAnyStatus(query) && NOT_OPEN].reduce(
        (before, more) => joinMissing(before, more || undefined),
        missing,
      ),
    }
    return { snapshot, info }
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

  /** A snapshot that was saved may be of the future: the clock was set back while no process ran. */
  #secondsSince(time: number): number {
    return Math.max(0, this.#options.clock.monotonic() - time) / 1000
  }

  #staleAt(current: HeldSnapshot): number {
    const { upstream, state } = this.#options
    const periods = periodsOf(upstream, state)
    const { maxAgeSeconds } = upstream
    const maxAgeMs =
      maxAgeSeconds === null
        ? STALE_FULL_PERIODS * fullPeriodMs(state.history, periods)
        : maxAgeSeconds * 1000
    const isFailing = state.failure !== null
    return currentAt(current) + (isFailing ? Math.min(maxAgeMs, STALE_PERIODS * periods.refreshMs) : maxAgeMs)
  }

  #isStale(current: HeldSnapshot): boolean {
    const now = this.#options.clock.monotonic()
    return now < current.takenAt || now > this.#staleAt(current)
  }
}

/** A list of every status lacks those of this source that are not open. */
const isOfAnyStatus = ({ status, listingId }: ListingQuery): boolean =>
  status === null && listingId === undefined

/** Outside of the class: a closure in a method would keep the query alive. */
function validityOf(
  state: SnapshotState,
  current: HeldSnapshot,
  until: number,
  puller: SnapshotSourceOptions['puller'],
): (now?: number) => boolean {
  const { version } = current.snapshot
  return (now = current.takenAt) => {
    // A response that is sent again answers a question, too.
    puller.onRead()
    return state.current === current && current.snapshot.version === version && now <= until
  }
}
