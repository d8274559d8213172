import type { Clock } from '../../domain/clock.ts'
import { ANY_STATUS, type ListingQuery } from '../../domain/query.ts'
import type { Held, ReadWhole } from '../../domain/source/held.ts'
import { joinMissing, NOT_OPEN } from '../../domain/source/missing-source.ts'
import type { Item, Range, Reading, ReadingInfo, Source, SourceMode } from '../../domain/source/reading.ts'
import type { Select } from '../../domain/source/selection.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { LiveReason, SourceDetails } from '../../domain/source/source-status.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
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
    | 'name'
    | 'kind'
    | 'mode'
    | 'refreshSeconds'
    | 'fullRefreshSeconds'
    | 'followedRefreshSeconds'
    | 'maxAgeSeconds'
  >
  state: SnapshotState
  puller: Pick<SnapshotPuller, 'refresh' | 'onRead' | 'remove'>
  live: { read: Source; select: Select; readWhole: ReadWhole }
  publishers: Pick<PublisherDirectory, 'isBehind'>
  requireSchema: () => void
  /** Data of this age answer for one listing, without a request. */
  freshSeconds: number
  clock: Clock
}

/**
 * Answers from memory, with open listings alone. Reads live for a publisher while some are unknown, and while the upstream is
 * not held. After a 401 or 403 nothing is shown.
 */
export class SnapshotSource {
  readonly #options: SnapshotSourceOptions

  constructor(options: SnapshotSourceOptions) {
    this.#options = options
  }

  get mode(): SourceMode {
    return this.#liveReason === undefined ? 'snapshot' : 'live'
  }

  readonly read: Source = async (query, range, signal) => {
    this.#options.puller.onRead()
    if (query.ignoresHeld === true || !this.#isHeld(query))
      return this.#options.live.read(query, range, signal)
    const { snapshot, info } = this.#current(query)
    const asked = this.#mustAsk(query, info) ? await this.#askForOne(query, range, signal) : null
    if (asked !== null) return asked
    return { ...info, ...(await snapshot.read(query, range)) }
  }

  readonly select: Select = async (query, signal) => {
    this.#options.puller.onRead()
    if (!this.#isHeld(query)) return this.#options.live.select(query, signal)
    const { snapshot, info } = this.#current(query)
    return { ...(await snapshot.select(query)), ...info }
  }

  /** With `mode = "snapshot"`, open listings are not read live, even before the first pull has ended. */
  readonly readWhole: ReadWhole = async (query, signal) => {
    const asked = { ...ANY_STATUS, status: query.status, via: query.via ?? [] }
    if (!this.#isHeld(asked)) return this.#options.live.readWhole(query, signal)
    const { snapshot } = this.#current(asked)
    return {
      find: (listingId) => snapshot.find(listingId).map(({ item }) => item),
      ids: () => snapshot.listingIds,
    }
  }

  get held(): Held {
    const { state, puller } = this.#options
    return {
      answers: (query) =>
        this.#isHeld(query) &&
        this.#failureFor(query) === null &&
        !this.#mustAsk(query, { asOf: currentAt(state.current!) }),
      find: (listingId) => state.visible?.snapshot.find(listingId) ?? [],
      ids: () => state.visible?.snapshot.listingIds ?? [],
      version: () => state.visible?.snapshot.contents ?? '',
      refresh: async (signal) => {
        if (this.mode === 'snapshot') await puller.refresh(signal)
      },
      onChange: state.changes.listen,
      follow: state.changes.follow,
    }
  }

  status(live: SourceDetails): SourceDetails {
    const { current, visible, failure, lastError, feedDifferences, feedFailures } = this.#options.state
    const liveReason = this.#liveReason
    const feed = { missedChanges: feedDifferences, feedFailures }
    const status = { ...live, ...feed, mode: this.mode, lastError: lastError ?? live.lastError }
    if (liveReason !== undefined) return { ...status, liveReason }
    if (current === null || visible === null) {
      const state = failure === null ? 'not_yet_loaded' : 'unavailable'
      return { ...status, state, ageSeconds: null, listings: null, missing: undefined }
    }
    return {
      ...status,
      followed: this.#followed(current),
      state: this.#isStale(current) ? 'stale' : 'loaded',
      ageSeconds: this.#secondsSince(currentAt(current)),
      listings: current.snapshot.size,
      missing: this.#missing(current),
    }
  }

  #followed({ heardAt }: HeldSnapshot): SourceDetails['followed'] {
    const isHeard = this.#options.state.isFollowed && heardAt !== undefined
    return isHeard ? { behindSeconds: this.#secondsSince(heardAt) } : undefined
  }

  /** `undefined` while it answers from memory. */
  get #liveReason(): LiveReason | undefined {
    const { upstream, state } = this.#options
    if (state.tooLarge !== null) return state.tooLarge.why
    return upstream.mode === 'auto' && state.current === null ? 'not_yet_loaded' : undefined
  }

  /**
   * The upstream answers for a single listing, unless what is held is fresh. A gateway is always asked: which of its
   * copies is the best one depends on closed ones, too, and those are not in memory.
   */
  #mustAsk({ listingId, caching }: ListingQuery, { asOf }: Pick<ReadingInfo, 'asOf'>): boolean {
    const { upstream, freshSeconds } = this.#options
    if (listingId === undefined || caching === 'only-if-cached') return false
    return caching === 'no-cache' || upstream.kind === 'gateway' || this.#secondsSince(asOf) > freshSeconds
  }

  /**
   * Removes a listing from memory that the upstream no longer has, or has with another status. A gateway may show a
   * closed copy while its pages have open copies of worse sources, so such a listing stays.
   */
  async #askForOne(query: ListingQuery, range: Range, signal: AbortSignal): Promise<Reading | null> {
    const { upstream, live, puller, state, clock } = this.#options
    const reading = await askForOne(live.read, { query, range, signal }, clock)
    const isGone = (item: Item): boolean => upstream.kind === 'registry' && !isOpen(item)
    if (reading?.listings.every(isGone)) {
      const copies = state.current?.snapshot.find(query.listingId!) ?? []
      puller.remove(
        copies.map(({ key }) => key),
        query.listingId!,
      )
    }
    return reading
  }

  #isHeld(query: ListingQuery): boolean {
    const { publisher, listingId } = query
    if (this.mode === 'live') return false
    const snapshot = this.#options.state.current?.snapshot
    if (listingId !== undefined) return !this.#hasPassed(query) && (snapshot?.find(listingId).length ?? 0) > 0
    return publisher === null || snapshot?.knowsPublishers === true
  }

  /** Why what is held must not be shown. */
  #failureFor(query: ListingQuery): SourceError | null {
    const { upstream, state, requireSchema } = this.#options
    const { visible, failure } = state
    try {
      requireSchema()
    } catch (error) {
      if (error instanceof SourceError) return error
      throw error
    }
    if (visible === null)
      return failure ?? new SourceError('not_yet_loaded', `${upstream.name}: the first pull has not ended`)
    if (query.listingId === undefined && query.status !== null && query.status !== 'open')
      return new SourceError('open_only', `${upstream.name}: only its open listings are held`)
    return this.#hasPassed(query)
      ? new SourceError('loop', `${upstream.name}: the query has passed through it`)
      : null
  }

  /** @throws SourceError while there is no snapshot to be shown */
  #current(query: ListingQuery): { snapshot: Snapshot; info: Omit<ReadingInfo, 'total'> } {
    const { state, clock, puller, publishers } = this.#options
    const cause = this.#failureFor(query)
    if (cause !== null) throw cause
    const { failure } = state
    const current = state.current!
    const stale = this.#isStale(current)
    const staleAt = this.#staleAt(current)
    const info = {
      asOf: currentAt(current) - (current.ageSeconds ?? 0) * 1000,
      stale,
      cache: {
        outcome: stale ? 'stale' : 'hit',
        ttlSeconds: Math.round((staleAt - clock.monotonic()) / 1000),
      },
      isCurrent: validityOf(state, current, stale ? Number.POSITIVE_INFINITY : staleAt, puller),
      reason: stale ? failure?.reason : undefined,
      isAttributed: current.snapshot.knowsPublishers || !publishers.isBehind,
      invalid: current.invalid || undefined,
      missing: isOfAnyStatus(query) ? joinMissing(this.#missing(current), NOT_OPEN) : this.#missing(current),
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
