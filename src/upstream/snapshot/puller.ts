import { type Clock, raceAbort } from '../../domain/clock.ts'
import { isSameListing } from '../../domain/listing-identity.ts'
import { SingleFlight } from '../../domain/single-flight.ts'
import { coversRegistry, describeAllMissing, type MissingSource } from '../../domain/source/missing-source.ts'
import type { PersistedMissing, SavedSnapshot, SnapshotStorage } from '../../domain/source/saved-snapshot.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { isRefusal } from '../../domain/source/source-reason.ts'
import type { SourceLog, SourceStatus } from '../../domain/source/source-status.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import type { Filter } from '../../filter-spec/filter.ts'
import { type Pull, TooLargeToHold } from './pull.ts'
import { Snapshot } from './snapshot.ts'

/** Share by which the period varies, to spread the pulls of many upstreams. */
const PULL_JITTER = 0.1
/** Longest wait after a failed pull. */
export const PULL_AGAIN_SECONDS = 15
export const SAVE_EVERY_MS = 60_000

export type PullerOptions = {
  upstream: Pick<UpstreamOptions, 'name' | 'refreshSeconds' | 'maxListings'>
  pull: () => Promise<Pull>
  filters: () => readonly Filter[]
  storage: SnapshotStorage | null
  /** Called with the memory of the snapshot. */
  onResize: (bytes: number) => void
  state: SnapshotState
  clock: Clock
  random: () => number
  log: SourceLog
}

/**
 * `takenAt`: start of the pull. `isRestored`: pulled by another process. Earlier listings of `missing` sources
 * are retained.
 */
export type HeldSnapshot = Omit<SavedSnapshot, 'listings'> &
  Pick<Pull, 'invalid' | 'gatewayId'> & { snapshot: Snapshot; isRestored: boolean }

/** What is held of an upstream, and how the latest pull ended. The puller of the next runtime continues with it. */
export class SnapshotState {
  current: HeldSnapshot | null = null
  /** Of the latest pull. */
  failure: SourceError | null = null
  lastError: SourceStatus['lastError'] = null
  exceedsLimit = false
  /** Whether a pull has ended, with any outcome. */
  isReady = false
}

/** A failed pull keeps the last snapshot. A pull that is too large drops it, and reads go live. */
export class SnapshotPuller {
  readonly #options: PullerOptions
  readonly #state: SnapshotState
  readonly #firstPull = Promise.withResolvers<void>()
  readonly #closing = new AbortController()
  readonly #pulls = new SingleFlight(async () => {
    this.#cancelTimer()
    await this.#pull()
    this.#scheduleNext()
  })
  #cancelTimer: () => void = () => {}
  #savedAt: number | null = null

  constructor(options: PullerOptions) {
    this.#options = options
    this.#state = options.state
  }

  get ready(): Promise<void> {
    return this.#firstPull.promise
  }

  /** Pulls at once; after a pull of an earlier runtime, when that one is `refreshSeconds` old. */
  async start(): Promise<void> {
    const { current, failure, exceedsLimit, isReady } = this.#state
    if (isReady) this.#firstPull.resolve()
    else await this.#restore()
    if (!isReady || failure !== null || exceedsLimit || current === null) this.pull()
    else this.#scheduleNext(Math.max(0, this.#options.clock.now() - current.takenAt))
  }

  async #restore(): Promise<void> {
    const { storage, upstream, filters, log } = this.#options
    try {
      const saved = (await storage?.load()) ?? null
      if (saved === null) return
      const wanted = filters()
      const snapshot = await new Snapshot(upstream.name, wanted).with(saved.listings, wanted)
      // Meanwhile an earlier runtime may have pulled a newer one.
      if (this.#state.current !== null) return
      this.#hold({ ...saved, snapshot, invalid: 0, isRestored: true })
    } catch (err) {
      log.warn({ upstream: upstream.name, err }, 'saved snapshot unreadable')
    }
  }

  /** A running pull may have begun before the reason for this one, so another follows it. */
  pull(): void {
    void this.#pulls.joinNext()
  }

  /** Resolves when the snapshot is saved. What is held can still be read. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#cancelTimer()
    this.#closing.abort(new Error('closed'))
    await this.#pulls.current
    await this.#save()
  }

  #hold(held: HeldSnapshot | null): void {
    this.#state.current = held
    this.#options.onResize(held?.snapshot.retainedBytes ?? 0)
  }

  #scheduleNext(elapsedMs = 0): void {
    if (this.#closing.signal.aborted) return
    const { upstream, clock, random } = this.#options
    const period = upstream.refreshSeconds * 1000 * (1 + PULL_JITTER * (2 * random() - 1))
    const wait = this.#state.failure === null ? period : Math.min(period, PULL_AGAIN_SECONDS * 1000)
    this.#cancelTimer = clock.after(Math.max(0, wait - elapsedMs), () => this.pull())
  }

  async #pull(): Promise<void> {
    if (this.#closing.signal.aborted) return
    const { pull, clock } = this.#options
    const takenAt = clock.now()
    try {
      await this.#take(await raceAbort(pull(), this.#closing.signal), takenAt)
    } catch (cause) {
      if (this.#closing.signal.aborted) return
      if (cause instanceof TooLargeToHold) this.#giveUp(cause)
      else this.#fail(cause)
    }
    this.#state.isReady = true
    this.#firstPull.resolve()
  }

  async #take({ listings, invalid, missing, gatewayId }: Pull, takenAt: number): Promise<void> {
    const { filters, upstream, clock, log } = this.#options
    const wanted = filters()
    const before = this.#state.current?.snapshot ?? new Snapshot(upstream.name, wanted)
    const found = retainUnreachable(before.listings, { listings, missing }, upstream.maxListings)
    const snapshot = await before.with(found, wanted)
    // What a later runtime holds is not replaced.
    if (this.#closing.signal.aborted) return
    this.#logMissing(missing)
    if (this.#state.failure !== null || this.#state.exceedsLimit)
      log.info({ upstream: upstream.name, listings: found.size }, 'snapshot pulled again')
    const persisted = missing?.map((entry) => withLastContact(entry, this.#state.current))
    this.#hold({ snapshot, takenAt, invalid, isRestored: false, gatewayId, missing: persisted })
    this.#state.failure = null
    this.#state.exceedsLimit = false
    const sinceSaved = this.#savedAt === null ? SAVE_EVERY_MS : clock.now() - this.#savedAt
    if (sinceSaved >= SAVE_EVERY_MS || sinceSaved < 0) await this.#save()
  }

  #logMissing(missing: readonly MissingSource[] | undefined): void {
    const { log } = this.#options
    const { name: upstream } = this.#options.upstream
    const wasComplete = this.#state.current?.missing === undefined
    if (missing !== undefined && wasComplete)
      log.warn({ upstream, missing: describeAllMissing(missing) }, 'upstream gateway answered incomplete')
    if (missing === undefined && !wasComplete)
      log.info({ upstream }, 'upstream gateway answers complete again')
  }

  #fail(err: unknown): void {
    const { clock, log } = this.#options
    const { name: upstream } = this.#options.upstream
    const isKnown = err instanceof SourceError
    const reason = isKnown ? err.reason : 'connection_reset'
    if (this.#state.failure?.reason !== reason) log.warn({ upstream, reason, err }, 'snapshot pull failed')
    // Without the missing sources of that moment.
    const message = isKnown ? err.message : `${upstream}: the pull failed`
    this.#state.failure = new SourceError(reason, message, { cause: err })
    this.#state.lastError = { reason, at: clock.now() }
    // Another object: responses that were made of the snapshot are not current any more.
    if (isRefusal(reason) && this.#state.current !== null) this.#state.current = { ...this.#state.current }
  }

  #giveUp({ listings, message }: TooLargeToHold): void {
    const { clock, log } = this.#options
    const { name: upstream } = this.#options.upstream
    if (!this.#state.exceedsLimit)
      log.warn({ upstream, listings, reason: message }, 'snapshot too large, read live instead')
    this.#state.exceedsLimit = true
    this.#state.failure = null
    this.#state.lastError = { reason: 'too_large', at: clock.now() }
    this.#hold(null)
  }

  async #save(): Promise<void> {
    const { storage, upstream, clock, log } = this.#options
    if (storage === null || this.#state.current === null || this.#state.current.isRestored) return
    const { snapshot, takenAt, missing } = this.#state.current
    this.#savedAt = clock.now()
    try {
      await storage.save({ takenAt, listings: snapshot.listings, missing })
    } catch (err) {
      log.warn({ upstream: upstream.name, err }, 'saving the snapshot failed')
    }
  }
}

/**
 * Adds earlier listings of missing sources, marked stale, up to `most` in all: they were not reported as
 * deleted.
 */
function retainUnreachable(
  before: Pull['listings'],
  { listings: pulled, missing = [] }: Pick<Pull, 'listings' | 'missing'>,
  most: number,
): Pull['listings'] {
  if (missing.length === 0) return pulled
  const listings = new Map(pulled)
  const byId = Map.groupBy(pulled.values(), ({ listingId }) => listingId)
  for (const [key, item] of before) {
    if (listings.size >= most) break
    const { listingId, origin } = item
    const copies = byId.get(listingId) ?? []
    if (origin === undefined || pulled.has(key) || copies.some((copy) => isSameListing(copy, item))) continue
    const isUnreachable = missing.some((entry) =>
      [origin.registry, ...origin.alsoIn].some((name) => coversRegistry(entry, name)),
    )
    if (isUnreachable) listings.set(key, { ...item, origin: { ...origin, stale: true } })
  }
  return listings
}

/** `heardAt`: when the current listings were pulled, or earlier if the source was missing then. */
function withLastContact(entry: MissingSource, current: HeldSnapshot | null): PersistedMissing {
  if (current === null) return entry
  const { takenAt, missing = [] } = current
  const before = missing.filter(
    (other) => coversRegistry(other, entry.registry) || coversRegistry(entry, other.registry),
  )
  if (before.some(({ heardAt }) => heardAt === undefined)) return entry
  return { ...entry, heardAt: Math.min(takenAt, ...before.map(({ heardAt = 0 }) => heardAt)) }
}
