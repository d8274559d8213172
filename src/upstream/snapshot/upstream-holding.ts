import { type Clock, raceAbort } from '../../domain/clock.ts'
import type { ListingQuery } from '../../domain/query.ts'
import type { FoundCopies, HeldAnswer, Holding, OneListing, SourcePart } from '../../domain/source/holding.ts'
import { hasPassed, type Item } from '../../domain/source/item.ts'
import { DIRECTORY, joinMissing, type MissingSource, NOT_OPEN } from '../../domain/source/missing-source.ts'
import { isRefusal } from '../../domain/source/reasons.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import { parseObject } from '../../json/value.ts'
import type { LookUp } from '../look-up.ts'
import type { PublisherDirectory } from '../publisher-directory.ts'
import { fullPeriodMs, periodsOf } from './next-pull.ts'
import type { SnapshotPuller } from './puller.ts'
import { currentAt, type HeldSnapshot, type SnapshotState } from './snapshot-state.ts'

/** A snapshot is stale when it has missed so many whole pulls, or first pages while they fail. */
const STALE_FULL_PERIODS = 4
const STALE_PERIODS = 2
/** A listing in memory is the answer where its upstream takes longer. */
const ASK_MS = 1000

type UpstreamHoldingOptions = {
  upstream: UpstreamOptions
  state: SnapshotState
  puller: SnapshotPuller
  /** Reads a listing from the upstream itself. */
  ask: LookUp
  publishers: PublisherDirectory
  /** @throws SourceError */
  checkSchema: () => void
  /** Data of this age answer for one listing, without a request. */
  freshSeconds: number
  clock: Clock
}

/** Open listings of an upstream. Only single listings are looked up at it. After a 401 or 403 nothing is shown. */
export class UpstreamHolding implements Holding {
  readonly name: string
  readonly visibility: Holding['visibility']
  readonly priority: number
  readonly isOwn = false
  readonly isGateway: boolean
  readonly follow: Holding['follow']
  readonly #options: UpstreamHoldingOptions

  constructor(options: UpstreamHoldingOptions) {
    const { upstream, state } = options
    this.#options = options
    this.name = upstream.name
    this.visibility = upstream.visibility
    this.priority = upstream.priority
    this.isGateway = upstream.kind === 'gateway'
    this.follow = state.changes.listen
  }

  readonly rows = (): number | null => this.#options.state.current?.snapshot.source ?? null

  readonly coverage: Holding['coverage'] = () =>
    this.#part()?.state ?? (this.#options.state.visible === null ? 'none' : 'whole')

  readonly prepare: Holding['prepare'] = (caching, signal) => {
    const { state, puller } = this.#options
    if (caching === 'no-cache') return puller.refresh(signal)
    const isAwaited = state.current === null && state.failure === null && caching !== 'only-if-cached'
    return isAwaited ? puller.arrival : null
  }

  readonly answer = (query: ListingQuery): HeldAnswer => {
    this.#options.puller.onRead()
    return this.#current(query)
  }

  /** What is held where that has the listing and is fresh; else the upstream is asked, and what is held answers where that fails. */
  readonly find = async (question: OneListing, signal: AbortSignal): Promise<FoundCopies> => {
    const { state, ask, puller } = this.#options
    const { listingId, ignoresHeld, via = [] } = question
    puller.onRead()
    const copies = this.#hasPassed(via) ? [] : (state.current?.snapshot.find(listingId) ?? [])
    const held = copies.filter((copy) => !hasPassed(copy, via))
    if (ignoresHeld === true || held.length === 0) return ask(question, signal)
    const { source: _, part: __, ...about } = this.#current({ via })
    const asked = this.#mustAsk(question, about.asOf) ? await this.#askForOne(question, signal) : null
    return asked ?? { ...about, copies: held }
  }

  /** For reports. */
  status() {
    const { current, visible, failure, lastError, isFollowed, feedDifferences, feedFailures } =
      this.#options.state
    const about = {
      missedChanges: feedDifferences,
      feedFailures,
      bytes: current?.snapshot.retainedBytes ?? 0,
      ...(lastError && { lastError }),
    }
    if (current === null || visible === null) {
      const state = failure === null ? ('not_yet_loaded' as const) : ('unavailable' as const)
      return { ...about, state, ageSeconds: null, listings: null }
    }
    const part = this.#part()
    const { heardAt } = current
    const isHeard = isFollowed && heardAt !== undefined
    return {
      ...about,
      followed: isHeard ? { behindSeconds: this.#secondsSince(heardAt) } : undefined,
      state: part?.state ?? (this.#isStale(current) ? ('stale' as const) : ('loaded' as const)),
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
    const { total = partOf } = totals ?? {}
    // Where there is room for the total now, the next whole pull finds which of them are missing.
    const of = Math.max(held, total > held ? total : partOf)
    return { state: isLoading === true ? 'loading' : 'partial', held, of }
  }

  /**
   * The upstream answers for a single listing, unless what is held is fresh. A gateway is always asked: which of its
   * copies is the best one depends on closed ones, too, and those are not in memory.
   */
  #mustAsk({ caching }: OneListing, asOf: number): boolean {
    const { upstream, freshSeconds } = this.#options
    if (caching === 'only-if-cached') return false
    return caching === 'no-cache' || upstream.kind === 'gateway' || this.#secondsSince(asOf) > freshSeconds
  }

  /**
   * Removes a listing from memory that the upstream no longer has, or has with another status. A gateway may show a
   * closed copy while its pages have open copies of worse sources, so such a listing stays.
   */
  async #askForOne(question: OneListing, signal: AbortSignal): Promise<FoundCopies | null> {
    const { upstream, puller, state } = this.#options
    const found = await this.#askInTime(question, signal)
    const isGone = (item: Item): boolean => upstream.kind === 'registry' && !isOpen(item)
    if (found?.copies.every(isGone))
      puller.remove((state.current?.snapshot.find(question.listingId) ?? []).map(({ key }) => key))
    return found
  }

  /** `null` where the upstream cannot be asked, or takes longer. @throws SourceError where it refuses our key */
  async #askInTime(question: OneListing, signal: AbortSignal): Promise<FoundCopies | null> {
    const { ask, clock } = this.#options
    const late = Promise.withResolvers<null>()
    const cancel = clock.after(ASK_MS, () => late.resolve(null))
    try {
      return await raceAbort(Promise.race([ask(question, signal), late.promise]), signal)
    } catch (error) {
      const isRefused = !(error instanceof SourceError) || isRefusal(error.reason)
      if (signal.aborted || !isRefused) return null
      throw error
    } finally {
      cancel()
    }
  }

  /** @throws SourceError while nothing may be shown */
  #current({ status = 'open', publisher = null, via = [] }: Asked): HeldAnswer {
    const { state, publishers, checkSchema } = this.#options
    const { visible: current, failure } = state
    if (status !== null && status !== 'open')
      throw new SourceError('open_only', `${this.name}: only its open listings are held`)
    checkSchema()
    if (current === null)
      throw failure ?? new SourceError('not_yet_loaded', `${this.name}: no listing has arrived yet`)
    if (this.#hasPassed(via)) throw new SourceError('loop', `${this.name}: the query has passed through it`)
    const { snapshot, ageSeconds = 0, invalid } = current
    const stale = this.#isStale(current)
    const staleAt = this.#staleAt(current)
    const part = this.#part()
    const { knowsPublishers } = snapshot
    const whyPart = part?.state === 'partial' ? 'too_large' : undefined
    // A listing without a known publisher may belong to the publisher of the query.
    const gaps = [publisher !== null && !knowsPublishers && DIRECTORY, status === null && NOT_OPEN]
    return {
      source: snapshot.source,
      asOf: currentAt(current) - ageSeconds * 1000,
      stale,
      freshUntil: staleAt,
      isCurrent: validityOf(state, current, stale ? Number.POSITIVE_INFINITY : staleAt),
      reason: (stale || part?.state === 'loading' ? failure?.reason : undefined) ?? whyPart,
      part,
      isAttributed: knowsPublishers || !publishers.isBehind,
      invalid: invalid || undefined,
      missing: gaps.reduce<readonly MissingSource[] | undefined>(
        (before, more) => joinMissing(before, more || undefined),
        this.#missing(current),
      ),
    }
  }

  /** The pulled gateway would get its own listings back. */
  #hasPassed(via: readonly string[]): boolean {
    const gatewayId = this.#options.state.current?.gatewayId
    return gatewayId !== undefined && via.includes(gatewayId)
  }

  #missing({ missing }: HeldSnapshot): readonly MissingSource[] | undefined {
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

/** Of an unreadable listing it is not known. */
function isOpen(item: Item): boolean {
  try {
    return parseObject(Buffer.from(item.bytes).toString()).status === 'open'
  } catch {
    return true
  }
}

type Asked = Partial<Pick<ListingQuery, 'status' | 'publisher' | 'via'>>

/** Outside of the class: a closure in a method would keep the query alive. */
function validityOf(state: SnapshotState, current: HeldSnapshot, until: number): (now?: number) => boolean {
  return (now = current.takenAt) => state.current === current && now <= until
}
