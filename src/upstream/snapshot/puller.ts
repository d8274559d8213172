import { raceAbort } from '../../domain/clock.ts'
import { SingleFlight } from '../../domain/single-flight.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { UpstreamFeed } from '../feed/upstream-feed.ts'
import { canBeHeld, type PageItem } from '../page/listing-page.ts'
import { compareFirstPage, type FirstPage, isWhole, totalsOf } from './first-page.ts'
import { HeldListings } from './held-listings.ts'
import type { PullBounds } from './joined-pages.ts'
import {
  nextPullAt,
  nextStretch,
  type Periods,
  type PullHistory,
  periodsOf,
  wholeDueAt,
} from './next-pull.ts'
import type { Pull } from './pull.ts'
import { SavedPulls } from './saved-pulls.ts'
import { learnFilters } from './snapshot.ts'
import { isHiding, type PullContext, type SnapshotState } from './snapshot-state.ts'

/** Share by which the periods vary, to spread the pulls of many upstreams. */
const PULL_JITTER = 0.1
/** `no-cache` asks for the first page again after so long. */
const REFRESH_EVERY_MS = 1000

/** `first`: a whole pull of a source that is not held yet. */
export type PullTurn = 'first page' | 'first' | 'later'

export type PullerOptions = PullContext & {
  fetchFirstPage: () => Promise<FirstPage>
  pull: (first: FirstPage, bounds: PullBounds) => Promise<Pull>
  attribute: (items: readonly PageItem[]) => Promise<unknown>
  /** First pages of sources of which nothing is held yet, and whole pulls, wait for their turn in the process. */
  inTurn: <Result>(work: () => Promise<Result>, turn: PullTurn) => Promise<Result>
  /** Share of its first periods by which it is asked earlier: many sources that start together are then asked one after the other. */
  head: number
}

/** A failed pull keeps the last snapshot, and what has arrived of a first one. */
export class SnapshotPuller {
  readonly #options: PullerOptions
  readonly #state: SnapshotState
  readonly #held: HeldListings
  readonly #saved: SavedPulls
  readonly #feed: UpstreamFeed
  readonly #firstPull = Promise.withResolvers<void>()
  readonly #arrival = Promise.withResolvers<void>()
  readonly #closing = new AbortController()
  readonly #pulls = new SingleFlight((isForced: boolean) => this.#pullOnce(isForced))
  #cancelTimer: () => void = () => {}
  /** A factor of the periods until the next pull. */
  #jitter = 1
  /** That have ended. */
  #looks = 0
  #wholePulls = 0

  constructor(options: PullerOptions) {
    this.#options = options
    this.#state = options.state
    this.#held = new HeldListings(options)
    this.#saved = new SavedPulls({ ...options, held: this.#held })
    this.#feed = new UpstreamFeed({
      ...options,
      held: this.#held,
      pull: () => this.pull(),
      onChange: () => {
        if (this.#pulls.current === null) this.#scheduleNext()
      },
    })
  }

  /** Resolves at the end of the first pull, with any outcome. */
  get ready(): Promise<void> {
    return this.#firstPull.promise
  }

  /** Resolves when the first listings are there, or the first pull has failed. */
  get arrival(): Promise<void> {
    return this.#arrival.promise
  }

  /** Pulls at once, or when the next pull after those of an earlier runtime with the same filters, or of another replica, is due. */
  async start(): Promise<void> {
    const { failure, isHeld } = this.#state
    if (isHeld || failure !== null) this.#firstPull.resolve()
    else {
      await this.#saved.restore()
      await this.#takeNewer()
    }
    if (failure !== null || this.#state.current !== null) this.#arrival.resolve()
    if (isHeld && failure === null) {
      this.#scheduleNext()
      this.#feed.restart([])
    } else void this.#pulls.join(false)
  }

  /** Pulls the whole. A running pull may have begun before the reason for this one, so another follows it. */
  pull(): void {
    void this.#pulls.joinNext(true)
  }

  /** Asks for first page and counts, or joins a running request; at most once a second. */
  async refresh(signal: AbortSignal): Promise<void> {
    const { lookedAt } = this.#state.history
    const age = this.#options.clock.monotonic() - (lookedAt ?? Number.NEGATIVE_INFINITY)
    if (this.#closing.signal.aborted || (this.#pulls.current === null && age >= 0 && age < REFRESH_EVERY_MS))
      return
    // What is in memory answers where time is up.
    await raceAbort(this.#pulls.join(false), signal).catch(() => {})
  }

  /** The first question after a time without readers begins a pull. */
  onRead(): void {
    const { history } = this.#state
    const wasIdle = history.whole !== null && (history.readAt ?? 0) < history.whole.startedAt
    // It is known until the next whole pull that there are readers.
    if (!wasIdle && history.whole !== null && this.#pulls.current === null) return
    this.#note({ readAt: this.#options.clock.monotonic() })
    if (wasIdle && this.#pulls.current === null) this.#scheduleNext()
  }

  /** A listing that its upstream does not have any more. */
  remove(keys: readonly string[]): void {
    this.#held.remove(keys)
  }

  /** Resolves when the snapshot is saved. What is held can still be read. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#cancelTimer()
    this.#closing.abort(new Error('closed'))
    this.#held.close()
    this.#feed.close()
    await this.#pulls.current
    await this.#saved.saveFile()
  }

  get #periods(): Periods {
    const { upstream, head } = this.#options
    const { refreshMs, fullMs } = periodsOf(upstream, this.#state, this.#jitter)
    const factorOf = (ended: number): number => (ended < 2 ? 1 - head : 1)
    return { refreshMs: refreshMs * factorOf(this.#looks), fullMs: fullMs * factorOf(this.#wholePulls) }
  }

  get #isWholeDue(): boolean {
    return this.#options.clock.monotonic() >= wholeDueAt(this.#state, this.#periods)
  }

  #scheduleNext(): void {
    this.#cancelTimer()
    if (this.#closing.signal.aborted) return
    const { clock, random } = this.#options
    this.#jitter = 1 + PULL_JITTER * (2 * random() - 1)
    const at = nextPullAt(this.#state, this.#periods)
    this.#cancelTimer = clock.after(Math.max(0, at - clock.monotonic()), () => void this.#pulls.join(false))
  }

  async #pullOnce(isForced: boolean): Promise<void> {
    this.#cancelTimer()
    if (this.#closing.signal.aborted) return
    const { clock } = this.#options
    this.#held.begin()
    this.#note({ lookedAt: clock.monotonic() })
    try {
      await raceAbort(this.#look(isForced), this.#closing.signal)
    } catch (cause) {
      if (this.#closing.signal.aborted) return
      this.#held.fail(cause)
    }
    this.#looks++
    this.#firstPull.resolve()
    this.#arrival.resolve()
    this.#note({ lookedAt: clock.monotonic() })
    this.#scheduleNext()
  }

  async #look(isForced: boolean): Promise<void> {
    const { inTurn, index, filters } = this.#options
    const begin = () => this.#begin()
    const first = await (!this.#state.isHeld ? inTurn(begin, 'first page') : begin())
    if (first === null) return
    await this.#putChanged(first)
    await learnFilters(index, filters())
    if (!isForced && !this.#isWholeDue) return
    await inTurn(() => this.#pullInTurn(first, isForced), !this.#state.isHeld ? 'first' : 'later')
  }

  /** @returns `null` where the first page was the whole, which is as cheap */
  async #begin(): Promise<FirstPage | null> {
    const { index, filters } = this.#options
    const first = await this.#fetchFirstPage()
    if (first.page !== null && isWhole(first.page)) {
      await learnFilters(index, filters())
      await this.#pullWhole(first)
      return null
    }
    // Before the turn of the whole pull, which may be long in coming.
    if (!this.#state.isHeld && first.page !== null)
      await this.#load(first.page.items.filter(canBeHeld), first)
    return first
  }

  /** Another replica may reach the upstream where this one does not. */
  async #fetchFirstPage(): Promise<FirstPage> {
    try {
      return await this.#options.fetchFirstPage()
    } catch (error) {
      if (error instanceof SourceError && !isHiding(error)) await this.#takeNewer()
      throw error
    }
  }

  /** Adds what the first page shows. Where that does not explain its total and the counts, a whole pull has to. */
  async #putChanged(first: FirstPage): Promise<void> {
    const { current } = this.#state
    const { changed, isExplained } = current?.totals
      ? compareFirstPage(current.snapshot, current.totals, first)
      : { changed: [], isExplained: false }
    if (changed.length > 0) await this.#options.attribute(changed)
    if (changed.length > 0 || isExplained) this.#held.add(changed, isExplained ? totalsOf(first, 0) : null)
    if (!isExplained) this.#note({ isUnexplained: true })
  }

  /** Takes what another replica has pulled, or pulls, unless another one does so now. */
  async #pullInTurn(first: FirstPage, isForced: boolean): Promise<void> {
    if (!isForced) {
      const isTaken = await this.#takeNewer()
      if (isTaken) await this.#putChanged(first)
      if (isTaken && !this.#isWholeDue) return
    }
    const isOurTurn = await this.#saved.takeTurn()
    // While nothing is held, readers wait.
    if (!isOurTurn && !isForced && this.#state.isHeld) return
    try {
      const isOld = this.#options.clock.monotonic() - first.askedAt > REFRESH_EVERY_MS
      await this.#pullWhole(isOld ? await this.#options.fetchFirstPage() : first)
    } finally {
      await this.#saved.endTurn()
    }
  }

  async #takeNewer(): Promise<boolean> {
    const taken = await this.#saved.takeNewer()
    if (taken === null) return false
    const { takenAt: startedAt, tookMs } = taken.pull
    this.#feed.restart(this.#held.differences)
    // An older one explains nothing.
    const isRecent = this.#options.clock.monotonic() - startedAt < this.#periods.fullMs
    if (isRecent) this.#noteWhole({ startedAt, endedAt: startedAt + tookMs }, taken.hasChanged)
    return true
  }

  async #pullWhole(first: FirstPage): Promise<void> {
    const { clock } = this.#options
    const startedAt = clock.monotonic()
    const isFirst = !this.#state.isHeld
    try {
      const pulled = isFirst ? await this.#loadAll(first) : await this.#options.pull(first, this.#held.bounds)
      const hasChanged = await this.#held.replace(pulled, first)
      if (this.#closing.signal.aborted) return
      this.#feed.restart(this.#held.differences)
      this.#noteWhole({ startedAt, endedAt: clock.monotonic() }, hasChanged || isFirst)
    } catch (error) {
      this.#note({ isUnexplained: true, whole: { startedAt, endedAt: clock.monotonic() } })
      throw error
    }
    await this.#saved.save(clock.monotonic() - startedAt)
  }

  /** A first pull, whose pages are held as they arrive. */
  async #loadAll(first: FirstPage): Promise<Pull> {
    let arriving = Promise.resolve()
    const onItems = (items: readonly PageItem[]): void => {
      arriving = arriving.then(() => this.#load(items, first))
    }
    try {
      return await this.#options.pull(first, { ...this.#held.bounds, onItems })
    } finally {
      await arriving
    }
  }

  async #load(items: readonly PageItem[], first: FirstPage): Promise<void> {
    await this.#options.attribute(items)
    this.#held.load(items, first)
    // A pull of one page has ended by then: an answer that waits for it reports no part.
    setImmediate(() => this.#arrival.resolve())
  }

  #note(news: Partial<PullHistory>): void {
    if (!this.#closing.signal.aborted) this.#state.history = { ...this.#state.history, ...news }
  }

  #noteWhole(whole: { startedAt: number; endedAt: number }, hasChanged: boolean): void {
    // A stream is compared in its period, whether the last comparison found anything or not.
    const stretch = this.#state.isFollowed ? 1 : nextStretch(this.#state.history.stretch, hasChanged)
    this.#wholePulls++
    this.#note({ whole, stretch, isUnexplained: false })
  }
}
