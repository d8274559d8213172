import type { Clock } from '../../domain/clock.ts'
import { ALL_OPEN, type ListingQuery } from '../../domain/query.ts'
import { SingleFlight } from '../../domain/single-flight.ts'
import {
  afterEvent,
  type Breaker,
  type BreakerEvent,
  CLOSED,
  MAX_OPEN_MS,
} from '../../domain/source/breaker.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { isAboutQuestion, type SourceReason } from '../../domain/source/source-reason.ts'
import type { BreakerStatus, SourceLog } from '../../domain/source/source-status.ts'
import type { FetchPage, PageRequest } from '../page/fetch-page.ts'

/** Between probes of an upstream that rejects our key. */
export const UNAUTHORIZED_MS = 60_000
const LISTEN_MS = 1000
/** Other replicas wait so long for the result of a probe. */
const PROBE_MS = 3000

/** Both functions reject where the shared state is unavailable. */
export type SharedBreakerState = {
  /** Latest end of an open breaker of any replica, in ms since the Unix epoch. */
  read: () => Promise<number | null>
  write: (until: number | null) => Promise<void>
}

type CircuitBreakerOptions = {
  name: string
  /** Without retries. */
  probe: FetchPage
  log: SourceLog
  shared: SharedBreakerState | null
  clock: Clock
  random: () => number
}

/**
 * Rejects calls while the upstream fails (`circuit_open`), rejects our key, or sent `Retry-After`, until a
 * background probe succeeds. Only plain first pages and probes count: other questions are chosen by readers, and
 * other routes may fail alone, so their failures only trigger a probe. If one listing may be the cause, the probe
 * looks for a page without it.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions
  readonly #closing = new AbortController()
  #breaker: Breaker = CLOSED
  /** After a rejected key or `Retry-After`. */
  #suspended: { reason: SourceReason; until: number } | null = null
  #peersOpenUntil = 0
  #listenedAt = 0
  readonly #probes = new SingleFlight(() => this.#probe())
  #cancelProbe: () => void = () => {}
  #cancelResume: () => void = () => {}

  constructor(options: CircuitBreakerOptions) {
    this.#options = options
  }

  get state(): BreakerStatus {
    const { state, failuresInARow, retryAt } = this.#breaker
    const suspended = this.#suspended
    return state === 'closed' && this.#isOpenElsewhere
      ? { state: 'open', failuresInARow, retryAt: this.#peersOpenUntil, suspended }
      : { state, failuresInARow, retryAt, suspended }
  }

  close(): void {
    this.#cancelProbe()
    this.#cancelResume()
    this.#closing.abort()
  }

  /** @throws SourceError */
  throwIfOpen(): void {
    const { name, clock } = this.#options
    if (this.#breaker.state !== 'closed' || this.#isOpenElsewhere)
      throw new SourceError('circuit_open', `${name}: the circuit breaker is open`)
    if (this.#suspended === null) return
    const { reason, until } = this.#suspended
    const what = reason === 'unauthorized' ? 'rejected our key' : 'asked us to wait'
    const retryAfterMs = Math.max(0, until - clock.now())
    throw new SourceError(reason, `${name}: ${what}`, { retryAfterMs })
  }

  guard(fetch: FetchPage): FetchPage {
    return async (query, request) => {
      this.#listen()
      this.throwIfOpen()
      try {
        const page = await fetch(query, request)
        if (this.#breaker.failuresInARow > 0 || isPlain(query, request)) this.#step('passed')
        return page
      } catch (error) {
        if (error instanceof SourceError) this.#judge(error, isPlain(query, request))
        throw error
      }
    }
  }

  /** Of a route other than listings: a failure only triggers a probe, and an answer proves nothing about listings. */
  async guardCall<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    this.throwIfOpen()
    try {
      return await call()
    } catch (error) {
      if (error instanceof SourceError) this.#judge(error, false)
      throw error
    }
  }

  #judge(error: SourceError, isPlain: boolean): void {
    const { reason } = error
    if (!isPlain || isOfOneListing(error)) {
      const isOfUpstream = isFailure(error) || reason === 'unauthorized' || reason === 'rate_limited'
      // While the breaker is open, a late failure proves nothing new, and the next probe is scheduled.
      if (isOfUpstream && this.#breaker.state === 'closed') void this.probe()
      return
    }
    this.#suspend(error)
    if (isFailure(error)) this.#step('failed', reason)
  }

  get #isRejected(): boolean {
    return this.#suspended?.reason === 'unauthorized'
  }

  #suspend({ reason, retryAfterMs }: SourceError): void {
    const { clock } = this.#options
    const isRejected = reason === 'unauthorized'
    if (isRejected && !this.#isRejected) this.#log('warn', 'upstream rejected API key')
    const isAskedToWait = retryAfterMs !== null && (reason === 'rate_limited' || reason === 'http_503')
    if (!isRejected && !isAskedToWait) return
    const ms = isRejected ? UNAUTHORIZED_MS : retryAfterMs!
    this.#suspended = { reason, until: clock.now() + ms }
    this.#cancelResume()
    this.#cancelResume = clock.after(ms, () => {
      if (isRejected) void this.probe()
      else this.#suspended = null
    })
  }

  #step(event: BreakerEvent, reason?: SourceReason): void {
    const { clock, random, shared } = this.#options
    const before = this.#breaker.state
    this.#breaker = afterEvent(this.#breaker, event, { now: clock.now(), random: random() })
    const { state, retryAt } = this.#breaker
    if (state === before) return
    if (state === 'closed') {
      this.#peersOpenUntil = 0
      shared?.write(null).catch(ignore)
      this.#log('info', 'circuit breaker closed')
    }
    if (retryAt === null) return
    if (before === 'closed') this.#log('warn', 'circuit breaker opened', reason)
    shared?.write(retryAt + PROBE_MS).catch(ignore)
    this.#scheduleProbe(retryAt - clock.now())
  }

  #scheduleProbe(ms: number): void {
    this.#cancelProbe()
    if (this.#closing.signal.aborted) return
    this.#cancelProbe = this.#options.clock.after(Math.max(0, ms), () => void this.probe())
  }

  /** Joins a running probe. None starts before the end of a `Retry-After`. Never rejects. */
  probe(): Promise<void> {
    return this.#probes.join()
  }

  async #probe(): Promise<void> {
    if (this.#closing.signal.aborted) return
    const { clock } = this.#options
    if (this.#suspended !== null && !this.#isRejected) {
      if (this.#breaker.state !== 'closed') this.#scheduleProbe(this.#suspended.until - clock.now())
      return
    }
    this.#step('probe')
    const error = await this.#requestProbe()
    if (this.#closing.signal.aborted) return
    const hasFailed = error !== null && isFailure(error)
    if (this.#isRejected && error?.reason !== 'unauthorized') {
      this.#suspended = null
      this.#log('info', 'upstream accepted API key')
    }
    if (error !== null) this.#suspend(error)
    if (this.#breaker.state === 'closed') this.#step(hasFailed ? 'failed' : 'passed', error?.reason)
    else this.#step(hasFailed ? 'probe_failed' : 'probe_passed', error?.reason)
    if (this.#breaker.state === 'half_open') this.#scheduleProbe(0)
  }

  async #requestProbe(): Promise<SourceError | null> {
    const error = await this.#failureOf(PLAIN_REQUEST)
    if (error === null || !isOfOneListing(error)) return error
    // The first listing, and the first one after the page.
    for (const offset of [0, PLAIN_REQUEST.limit])
      if ((await this.#failureOf({ offset, limit: 1 })) === null) return null
    return error
  }

  #failureOf(request: PageRequest): Promise<SourceError | null> {
    const { probe, name } = this.#options
    return probe(ALL_OPEN, request).then(
      () => null,
      (cause: unknown) =>
        cause instanceof SourceError
          ? cause
          : new SourceError('connection_reset', `${name}: the probe failed`, { cause }),
    )
  }

  get #isOpenElsewhere(): boolean {
    return this.#options.clock.now() < this.#peersOpenUntil
  }

  /** Best effort: each replica has its own breaker as well. Also reads again when the clock was set back. */
  #listen(): void {
    const { shared, clock } = this.#options
    if (shared === null || Math.abs(clock.now() - this.#listenedAt) < LISTEN_MS) return
    this.#listenedAt = clock.now()
    shared.read().then((until) => {
      this.#peersOpenUntil = Math.min(until ?? 0, clock.now() + 2 * MAX_OPEN_MS)
    }, ignore)
  }

  #log(level: keyof SourceLog, event: string, reason?: SourceReason): void {
    const { log, name: upstream } = this.#options
    log[level]({ upstream, ...(reason && { reason }) }, event)
  }
}

const PLAIN_REQUEST: PageRequest = { offset: 0, limit: 50 }

function ignore(): void {}

/** Every Registry can answer these. */
function isPlain(query: ListingQuery, { offset, limit, resume }: PageRequest): boolean {
  const { status, publisher, filters, listingId } = query
  const isFirstPage = offset === 0 && resume === undefined && limit >= PLAIN_REQUEST.limit
  return (
    isFirstPage && status === 'open' && publisher === null && filters.length === 0 && listingId === undefined
  )
}

/** Whether the upstream failed, and not the question, our key, or the rate of our requests. */
function isFailure({ reason }: SourceError): boolean {
  return !isAboutQuestion(reason) && !NO_FAILURES.has(reason) && !/^http_4\d\d$/.test(reason)
}

/** Whether a single listing may be the cause. */
function isOfOneListing({ reason }: SourceError): boolean {
  return reason === 'http_500' || reason === 'too_large'
}

const NO_FAILURES: ReadonlySet<SourceReason> = new Set([
  'unauthorized',
  'signed_requests_required',
  'rate_limited',
  'budget_spent',
  'private_address',
])
