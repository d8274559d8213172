import { afterEvent, type Breaker, type BreakerEvent, CLOSED, type Notice } from '../domain/breaker.ts'
import type { Clock } from '../domain/clock.ts'
import type { ListingQuery } from '../domain/query.ts'
import { isAboutQuestion, SourceError, type SourceReason } from '../domain/source-error.ts'
import type { SourceLog } from '../domain/source-log.ts'
import type { FetchListings } from '../upstream/fetch-listings.ts'
import { Neighbours } from './neighbours.ts'
import { StateLog } from './state-log.ts'

/** How long an upstream that refuses our key is left alone between probes. */
export const UNAUTHORIZED_MS = 60_000

export type GuardOptions = {
  name: string
  /** For readers' questions. */
  fetch: FetchListings
  /** For our own: the same upstream, without retries. */
  probe: FetchListings
  /** Where changes of its state are told; absent: nowhere. */
  log?: SourceLog | undefined
  /** Where other replicas are told of an open breaker; `null` where there are none. */
  notice: Notice | null
  clock: Clock
  /** From 0 to 1. */
  random: () => number
}

/**
 * Stands before one upstream and lets nobody wait for what is known to fail: while its breaker is open
 * (`circuit_open`), its key is refused (`unauthorized`) or it has asked to be left alone (`Retry-After`), calls are
 * rejected at once. Whether that is over is found out by probes of its own, in the background. Of several replicas the
 * one whose breaker has opened sends them; the others leave the upstream alone for as long as it says.
 */
export class Guard {
  readonly #options: GuardOptions
  readonly #neighbours: Neighbours
  readonly #told: StateLog
  readonly #closing = new AbortController()
  #breaker: Breaker = CLOSED
  /** It has refused our key, and is asked again at this time. */
  #barredUntil: number | null = null
  /** It has asked to be left alone. */
  #hold: { until: number; reason: SourceReason } | null = null
  #isProbing = false
  #cancelTimer: () => void = () => {}

  constructor(options: GuardOptions) {
    this.#options = options
    this.#neighbours = new Neighbours(options.notice, options.clock)
    this.#told = new StateLog(options.name, options.log)
  }

  get breaker(): Pick<Breaker, 'state' | 'failuresInARow' | 'retryAt'> {
    const { state, failuresInARow, retryAt } = this.#breaker
    const until = state === 'closed' ? this.#neighbours.leaveAloneUntil : null
    return until === null
      ? { state, failuresInARow, retryAt }
      : { state: 'open', failuresInARow, retryAt: until }
  }

  /** Ends what it does in the background. */
  close(): void {
    this.#cancelTimer()
    this.#closing.abort(new Error('closed'))
  }

  readonly fetch: FetchListings = async (query, offset, signal) => {
    this.#neighbours.listen()
    this.refuse()
    try {
      const page = await this.#options.fetch(query, offset, signal)
      this.#step('passed')
      return page
    } catch (error) {
      if (error instanceof SourceError) this.#judge(error, query)
      throw error
    }
  }

  /** @throws SourceError while the upstream is to be left alone */
  refuse(): void {
    const { name, clock } = this.#options
    if (this.#breaker.state !== 'closed' || this.#neighbours.leaveAloneUntil !== null)
      throw new SourceError('circuit_open', `${name}: left alone after it failed too often`)
    if (this.#barredUntil !== null)
      throw new SourceError('unauthorized', `${name}: has refused our key and is left alone for a while`)
    if (this.#hold === null || this.#hold.until <= clock.now()) return
    const retryAfterMs = this.#hold.until - clock.now()
    throw new SourceError(this.#hold.reason, `${name}: has asked to be left alone`, { retryAfterMs })
  }

  #judge(error: SourceError, query: ListingQuery): void {
    this.#heed(error)
    if (isFailure(error, query)) this.#step('failed', error.reason)
    if (error.reason !== 'unauthorized') return
    if (isPlain(query)) this.#bar()
    // What one question was refused may be about that question: a firewall, say. Nobody else is to suffer from it.
    else void this.#probe()
  }

  #heed({ reason, retryAfterMs }: SourceError): void {
    if (retryAfterMs === null || (reason !== 'rate_limited' && reason !== 'http_503')) return
    this.#hold = { until: this.#options.clock.now() + retryAfterMs, reason }
  }

  #bar(): void {
    this.#told.refusesKey()
    this.#barredUntil = this.#options.clock.now() + UNAUTHORIZED_MS
    this.#schedule()
  }

  /** @param reason why it failed, where it did */
  #step(event: BreakerEvent, reason?: SourceReason): void {
    const { clock, random } = this.#options
    const before = this.#breaker
    this.#breaker = afterEvent(before, event, { now: clock.now(), random: random() })
    const { state, retryAt } = this.#breaker
    if (state === before.state) return
    if (state === 'open' && reason !== undefined) this.#told.leftAlone(reason)
    if (state === 'closed') {
      this.#told.answers()
      this.#neighbours.tellClosed()
    }
    if (retryAt === null) return
    this.#neighbours.tellOpen(retryAt)
    this.#schedule()
  }

  /** The next probe, as late as every reason to wait wants it. */
  #schedule(): void {
    this.#cancelTimer()
    const { now, after } = this.#options.clock
    const at = Math.max(this.#breaker.retryAt ?? 0, this.#barredUntil ?? 0, this.#hold?.until ?? 0)
    if (this.#closing.signal.aborted) return
    this.#cancelTimer = after(Math.max(0, at - now()), () => void this.#probe())
  }

  /** One at a time. Never rejects. */
  async #probe(): Promise<void> {
    if (this.#isProbing || this.#closing.signal.aborted) return
    this.#isProbing = true
    this.#step('probe')
    const error = await this.#ask()
    this.#isProbing = false
    if (this.#closing.signal.aborted) return
    if (error !== null) this.#heed(error)
    this.#barredUntil = null
    const hasFailed = error !== null && isFailure(error, PLAIN)
    if (error === null) this.#told.takesKey()
    if (this.#breaker.state === 'closed') this.#step(hasFailed ? 'failed' : 'passed', error?.reason)
    else this.#step(hasFailed ? 'probe_failed' : 'probe_passed')
    if (error?.reason === 'unauthorized') this.#bar()
    else if (this.#breaker.state === 'half_open') this.#schedule()
  }

  async #ask(): Promise<SourceError | null> {
    try {
      await this.#options.probe(PLAIN, 0, this.#closing.signal)
      return null
    } catch (error) {
      if (error instanceof SourceError) return error
      return new SourceError('connection_reset', `${this.#options.name}: the probe broke`, { cause: error })
    }
  }
}

/** What every Registry can answer: all that is open. */
const PLAIN: ListingQuery = {
  status: 'open',
  publisher: null,
  criteria: [],
  filters: [],
  limit: 200,
  offset: 0,
}

const isPlain = ({ filters, publisher }: ListingQuery): boolean => filters.length === 0 && publisher === null

/** Whether the upstream is to blame, and not the question, our key, or our asking too often. */
const isFailure = ({ reason }: SourceError, query: ListingQuery): boolean => {
  if (isAboutQuestion(reason) || NO_FAILURES.has(reason) || /^http_4\d\d$/.test(reason)) return false
  // One listing with an odd value makes a Registry of the deployed protocol answer 500 to every query on that field
  // (`protocol.md` 7.1), and readers who ask for it could shut it off for all.
  return reason !== 'http_500' || isPlain(query)
}

const NO_FAILURES: ReadonlySet<SourceReason> = new Set(['unauthorized', 'rate_limited', 'budget_spent'])
