import type { Clock } from '../domain/clock.ts'
import { describeGaps, type Gap } from '../domain/gap.ts'
import type { HeldGap, SavedSnapshot, SnapshotKeeping } from '../domain/saved-snapshot.ts'
import { SourceError } from '../domain/source-error.ts'
import type { SourceLog } from '../domain/source-log.ts'
import type { SourceStatus } from '../domain/source-status.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import type { Filter } from '../filter-spec/filter.ts'
import type { Pull } from '../upstream/pull-listings.ts'
import { carriedOver, sinceWhen } from './carried-over.ts'
import { Snapshot } from './snapshot.ts'

/** Pulls come at the period, more or less this part of it, so that those of many upstreams spread. */
export const PULL_JITTER = 0.1
/** After a pull that failed the next one comes at the period, or after this long where that is sooner. */
export const PULL_AGAIN_SECONDS = 15
/** A snapshot is saved once in so long at most, and at the end. */
export const SAVE_EVERY_MS = 60_000

export type PullerOptions = {
  upstream: Pick<UpstreamOptions, 'name' | 'refreshSeconds' | 'maxListings'>
  pull: (signal: AbortSignal) => Promise<Pull>
  /** Those that readers may ask for. */
  filters: () => readonly Filter[]
  /** Where snapshots are saved; `null` nowhere. */
  keeping: SnapshotKeeping | null
  clock: Clock
  /** From 0 to 1. */
  random: () => number
  log: SourceLog
}

/**
 * A snapshot, when its pull began (milliseconds since the Unix epoch), and whether that was in another process. `gaps`:
 * what a gateway said was missing then; of these it holds what was held before.
 */
export type Held = {
  snapshot: Snapshot
  takenAt: number
  invalid: number
  isRestored: boolean
  gaps?: readonly HeldGap[]
  /** Id of the gateway that it was pulled from, where it says it. */
  teller?: string | undefined
}

/**
 * Pulls one upstream every `refreshSeconds` and holds what it said last. A pull that breaks changes nothing but the
 * age of what is held, and so it is for those of a gateway's Registries that the gateway has not reached; one that
 * finds more than `maxListings` ends with nothing held.
 */
export class SnapshotPuller {
  readonly #options: PullerOptions
  readonly #closing = new AbortController()
  #running: Promise<void> | null = null
  #isWantedAgain = false
  #cancelTimer: () => void = () => {}
  #savedAt = Number.NEGATIVE_INFINITY

  held: Held | null = null
  /** Why the latest pull failed; `null` where it did not. */
  failure: SourceError | null = null
  lastError: SourceStatus['lastError'] = null
  /** The latest pull has found more than `maxListings`. */
  isTooLarge = false
  /** One pull has come to an end, whatever end. */
  wasTried = false
  readonly #tried = Promise.withResolvers<void>()

  constructor(options: PullerOptions) {
    this.#options = options
  }

  /** Resolves when one pull has come to an end. */
  get tried(): Promise<void> {
    return this.#tried.promise
  }

  saved(): SavedSnapshot | null {
    if (this.held === null) return null
    const { takenAt, snapshot, gaps } = this.held
    return { takenAt, listings: new Map(snapshot.listings), ...(gaps === undefined ? {} : { gaps }) }
  }

  /** Holds what was saved, where it can be read. */
  async restore(): Promise<void> {
    const { keeping, upstream, filters, log } = this.#options
    try {
      const saved = (await keeping?.load()) ?? null
      if (saved === null) return
      const wanted = filters()
      const snapshot = await new Snapshot(upstream.name, wanted).with(saved.listings, wanted)
      const { listings: _, ...about } = saved
      this.held = { snapshot, invalid: 0, isRestored: true, ...about }
    } catch (cause) {
      log.warn(
        { upstream: upstream.name, err: cause },
        'the saved snapshot cannot be read: it will be pulled',
      )
    }
  }

  /** Pulls now; once more where that is being done, since it may have missed what this is about. */
  pull(): void {
    this.#isWantedAgain = this.#running !== null
    if (this.#isWantedAgain) return
    this.#cancelTimer()
    this.#running = this.#pull().finally(() => {
      this.#running = null
      this.#goOn()
    })
  }

  /** Resolves when nothing is done any more and what is held is saved. */
  async close(): Promise<void> {
    this.#cancelTimer()
    this.#closing.abort(new Error('closed'))
    await this.#running
    await this.#save()
  }

  #goOn(): void {
    if (this.#closing.signal.aborted) return
    if (this.#isWantedAgain) {
      this.pull()
      return
    }
    const { upstream, clock, random } = this.#options
    const period = upstream.refreshSeconds * 1000 * (1 + PULL_JITTER * (2 * random() - 1))
    const wait = this.failure === null ? period : Math.min(period, PULL_AGAIN_SECONDS * 1000)
    this.#cancelTimer = clock.after(wait, () => this.pull())
  }

  /** Never rejects. */
  async #pull(): Promise<void> {
    const { pull, clock } = this.#options
    const takenAt = clock.now()
    try {
      const pulled = await pull(this.#closing.signal)
      if (pulled.kind === 'too_many') this.#giveUp(pulled.total)
      else await this.#take(pulled, takenAt)
    } catch (cause) {
      if (this.#closing.signal.aborted) return
      this.#fail(cause)
    }
    this.wasTried = true
    this.#tried.resolve()
  }

  async #take({ listings, invalid, gaps, teller }: Pull & { kind: 'whole' }, takenAt: number): Promise<void> {
    const { filters, upstream, clock, log } = this.#options
    const wanted = filters()
    const before = this.held?.snapshot ?? new Snapshot(upstream.name, wanted)
    const found =
      gaps === undefined ? listings : carriedOver(before.listings, { listings, gaps }, upstream.maxListings)
    const snapshot = await before.with(found, wanted)
    this.#tellGaps(gaps)
    if (this.failure !== null || this.isTooLarge)
      log.info({ upstream: upstream.name }, 'its listings are held again')
    const missing = gaps === undefined ? {} : { gaps: gaps.map((gap) => sinceWhen(gap, this.held)) }
    this.held = { snapshot, takenAt, invalid, isRestored: false, teller, ...missing }
    this.failure = null
    this.isTooLarge = false
    if (clock.now() - this.#savedAt >= SAVE_EVERY_MS) await this.#save()
  }

  #tellGaps(gaps: readonly Gap[] | undefined): void {
    const { upstream, log } = this.#options
    const was = this.held?.gaps !== undefined
    if (gaps !== undefined && !was)
      log.warn(
        { upstream: upstream.name, missing: describeGaps(gaps) },
        'it has not reached all that is behind it',
      )
    if (gaps === undefined && was)
      log.info({ upstream: upstream.name }, 'it reaches all that is behind it again')
  }

  /** Keeps what there is, and lets it age. */
  #fail(cause: unknown): void {
    const { upstream, clock, log } = this.#options
    const error = asSourceError(cause, upstream.name)
    if (this.failure?.reason !== error.reason)
      log.warn({ upstream: upstream.name, reason: error.reason, err: cause }, 'its listings cannot be pulled')
    this.failure = error
    this.lastError = { reason: error.reason, at: clock.now() }
  }

  #giveUp(total: number): void {
    const { upstream, clock, log } = this.#options
    const { name, maxListings } = upstream
    if (!this.isTooLarge)
      log.warn(
        { upstream: name, total, max_listings: maxListings },
        'it has more listings than max_listings: it is asked live instead',
      )
    this.isTooLarge = true
    this.held = null
    this.failure = null
    this.lastError = { reason: 'too_large', at: clock.now() }
  }

  async #save(): Promise<void> {
    const { keeping, upstream, clock, log } = this.#options
    if (keeping === null || this.held === null || this.held.isRestored) return
    const { snapshot, takenAt, gaps } = this.held
    this.#savedAt = clock.now()
    try {
      await keeping.save({ takenAt, listings: snapshot.listings, ...(gaps === undefined ? {} : { gaps }) })
    } catch (cause) {
      log.warn({ upstream: upstream.name, err: cause }, 'its listings could not be saved')
    }
  }
}

/** Without what a gateway named as missing: that is of the moment, and the failure is told until the next pull. */
const asSourceError = (cause: unknown, upstream: string): SourceError =>
  cause instanceof SourceError
    ? new SourceError(cause.reason, cause.message, { cause })
    : new SourceError('connection_reset', `${upstream}: the pull broke`, { cause })
