import type { Clock } from '../../domain/clock.ts'
import { LIMITED_MS } from '../../domain/retry-after.ts'
import { SingleFlight } from '../../domain/single-flight.ts'
import { afterEvent, type Breaker, type BreakerEvent, CLOSED } from '../../domain/source/breaker.ts'
import { detailOf } from '../../domain/source/failure.ts'
import { type SourceReason, traitsOf } from '../../domain/source/reasons.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { BreakerStatus, SourceLog } from '../../domain/source/source-status.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import type { PageRequest } from '../../domain/walk/walk.ts'
import { MAX_RETRY_AFTER_MS } from '../http/errors.ts'
import { type Evidence, type Interceptor, NOT_SENT, PURPOSES, whenEnded } from '../http/request.ts'
import { type FetchPage, PLAIN_REQUEST } from '../page/fetch-page.ts'
import { PLAIN_QUERY } from '../push-down.ts'

/** Between probes of an upstream that rejects our key. */
export const UNAUTHORIZED_MS = 60_000
const LISTEN_MS = 1000

/** Both functions reject where the shared state is unavailable. */
export type SharedBreakerState = {
  /** Until when the breaker is open that opened last, of any replica, in ms since the Unix epoch. */
  read: () => Promise<number | null>
  write: (until: number) => Promise<void>
}

type CircuitBreakerOptions = {
  upstream: Pick<UpstreamOptions, 'name' | 'key'>
  /** Fetches pages with the purpose `probe`. */
  probe: FetchPage
  log: SourceLog
  shared: SharedBreakerState | null
  clock: Clock
  random: () => number
}

/**
 * Rejects calls while the upstream fails, with the reason of its latest failure, rejects our key, or sent `Retry-After`, until a
 * background probe succeeds. Only plain first pages and probes count: other questions are chosen by readers, and
 * other routes may fail alone, so their failures only trigger a probe (`PURPOSES`). If one listing may be the cause, the probe
 * looks for a page without it. An open breaker of another replica triggers a probe, too: that replica may be the cause.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions
  readonly #closing = new AbortController()
  #breaker: Breaker = CLOSED
  /** Why it opened, or a probe has failed since. */
  #cause: SourceError | null = null
  /** After a rejected key or `Retry-After`. */
  #suspended: { reason: SourceReason; until: number } | null = null
  /** Answers of 429 in a row that name no time. */
  #limitedInARow = 0
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
    return { state, failuresInARow, retryAt, suspended: this.#suspended }
  }

  close(): void {
    this.#cancelProbe()
    this.#cancelResume()
    this.#closing.abort()
  }

  readonly intercept: Interceptor = (dispatch) => (request, handler) => {
    const { isStopped, evidence } = PURPOSES[request.purpose]
    if (!isStopped) return dispatch(request, handler)
    this.#listen()
    const refusal = this.#refusal()
    if (refusal !== null) {
      handler.onResponseError?.(NOT_SENT, refusal)
      return true
    }
    return dispatch(
      request,
      whenEnded(handler, (error) => this.#learn(evidence, error)),
    )
  }

  #refusal(): SourceError | null {
    const { upstream, clock } = this.#options
    const { name } = upstream
    if (this.#breaker.state !== 'closed' && this.#cause !== null) {
      const { reason, message } = this.#cause
      return new SourceError(reason, `${message}; the circuit breaker is open`, { isPaused: true })
    }
    if (this.#suspended === null) return null
    const { reason, until } = this.#suspended
    const what = reason === 'unauthorized' ? 'rejected our key' : 'asked us to wait'
    const retryAfterMs = Math.max(0, until - clock.monotonic())
    return new SourceError(reason, `${name}: ${what}`, { retryAfterMs })
  }

  #learn(evidence: Evidence, error: Error | null): void {
    if (error === null) {
      this.#limitedInARow = 0
      const endsFailures = evidence === 'hint' && this.#breaker.failuresInARow > 0
      if (evidence === 'proof' || endsFailures) this.#step('passed')
    } else if (error instanceof SourceError && evidence !== 'none') this.#judge(error, evidence === 'proof')
  }

  #judge(error: SourceError, isProof: boolean): void {
    const { reason } = error
    if (!isProof || isOfOneListing(error)) {
      const isOfUpstream = isFailure(error) || reason === 'unauthorized' || reason === 'rate_limited'
      // While the breaker is open, a late failure proves nothing new, and the next probe is scheduled.
      if (isOfUpstream && this.#breaker.state === 'closed') void this.probe()
      return
    }
    this.#suspend(error)
    if (isFailure(error)) this.#step('failed', error)
  }

  get #isRejected(): boolean {
    return this.#suspended?.reason === 'unauthorized'
  }

  #suspend(error: SourceError): void {
    const { clock } = this.#options
    const { reason, retryAfterMs } = error
    const isRejected = reason === 'unauthorized'
    if (isRejected && !this.#isRejected) this.#log('warn', 'upstream rejected API key', error)
    const isAskedToWait = reason === 'rate_limited' || (reason === 'http_503' && retryAfterMs !== null)
    if (!isRejected && !isAskedToWait) return
    const ms = isRejected ? UNAUTHORIZED_MS : (retryAfterMs ?? this.#limitedMs())
    this.#suspended = { reason, until: clock.monotonic() + ms }
    this.#cancelResume()
    this.#cancelResume = clock.after(ms, () => {
      if (isRejected) void this.probe()
      else this.#suspended = null
    })
  }

  #limitedMs(): number {
    return Math.min(LIMITED_MS * 2 ** this.#limitedInARow++, MAX_RETRY_AFTER_MS)
  }

  #step(event: BreakerEvent, error?: SourceError | null): void {
    const { clock, random, shared } = this.#options
    const before = this.#breaker.state
    if (error && isFailure(error)) this.#cause = error
    this.#breaker = afterEvent(this.#breaker, event, { now: clock.monotonic(), random: random() })
    const { state, retryAt } = this.#breaker
    if (state === before) return
    if (state === 'closed') this.#log('info', 'circuit breaker closed')
    if (retryAt === null) return
    if (before === 'closed') this.#log('warn', 'circuit breaker opened', error)
    shared?.write(retryAt).catch(ignore)
    this.#scheduleProbe(retryAt - clock.monotonic())
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
      if (this.#breaker.state !== 'closed') this.#scheduleProbe(this.#suspended.until - clock.monotonic())
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
    const failure = clock.monotonic() < this.#peersOpenUntil ? 'confirmed' : 'failed'
    if (this.#breaker.state === 'closed') this.#step(hasFailed ? failure : 'passed', error)
    else this.#step(hasFailed ? 'probe_failed' : 'probe_passed', error)
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
    const { probe, upstream } = this.#options
    return probe(PLAIN_QUERY, request).then(
      () => null,
      (cause: unknown) =>
        cause instanceof SourceError
          ? cause
          : new SourceError('connection_reset', `${upstream.name}: the probe failed`, { cause }),
    )
  }

  /** Best effort: each replica has its own breaker as well. */
  #listen(): void {
    const { shared, clock } = this.#options
    if (shared === null || clock.monotonic() - this.#listenedAt < LISTEN_MS) return
    this.#listenedAt = clock.monotonic()
    shared.read().then((until) => {
      // The time that Redis has left for it is a few ms off.
      const isNews = until !== null && until > this.#peersOpenUntil + LISTEN_MS
      this.#peersOpenUntil = until ?? 0
      if (isNews && this.#breaker.state === 'closed') void this.probe()
    }, ignore)
  }

  #log(level: keyof SourceLog, event: string, error?: SourceError | null): void {
    const { log, upstream } = this.#options
    const cause = error && { reason: error.reason, detail: detailOf(error, upstream) }
    log[level]({ upstream: upstream.name, ...cause }, event)
  }
}

function ignore(): void {}

/** Whether the upstream failed, and not the question, our key, or the rate of our requests. */
function isFailure({ reason }: SourceError): boolean {
  return traitsOf(reason).fault === 'upstream'
}

/** Whether a single listing may be the cause. */
function isOfOneListing({ reason }: SourceError): boolean {
  return traitsOf(reason).splitsPage === 'any'
}
