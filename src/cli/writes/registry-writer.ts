import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { nowSeconds, type SignedWrite } from '../../client/signed-write.ts'
import { raceAbort, systemClock } from '../../domain/clock.ts'
import { LIMITED_MS, parseRetryAfter } from '../../domain/retry-after.ts'
import { traitsOf } from '../../domain/source/reasons.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import {
  type ApiResponse,
  describeErrorResponse,
  endpointUrl,
  type RegistryClient,
} from '../registries/registry-client.ts'
import type { Registry } from '../registries/select-registries.ts'
import {
  type Attempts,
  INTERRUPTED,
  isFailureOfRegistry,
  isInProgress,
  judgeWrite,
  mayHaveArrived,
  type Write,
  type WriteResult,
} from './write-result.ts'

const { monotonic } = systemClock

type WriterOptions = {
  client: RegistryClient
  registry: Registry
  /** Listings to write. */
  total: number
  /** Address of the wallet. */
  signer: string
  /** Seconds. */
  deadline?: number | undefined
  /** Seconds for each request. */
  timeout?: number | undefined
  /** Stops all waits and further requests. */
  signal: AbortSignal
  report: (line: string) => void
  onResult: (result: WriteResult, done: number) => void
}

/** 10,000 listings take 33 minutes at a limit of 300 a minute. */
const DEFAULT_DEADLINE_SECONDS = 3600

/** The Registry recovers a signature and makes the write durable. */
const DEFAULT_TIMEOUT_SECONDS = 10
/** After no answer or a server error. */
const MAX_REPETITIONS = 2
const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 60_000
/** Registries accept a signature for five minutes. */
const MAX_SIGNATURE_AGE_MS = 240_000
/** Writes without success, refused listings aside. */
const MAX_FAILURES_IN_A_ROW = 5
/** Requests without an answer in their time, over all connections. */
const MAX_TIMEOUTS_IN_A_ROW = 5
/** A Registry that refuses so long by its rate limit, without one other answer, is full. */
const MAX_LIMITED_MS = 600_000
/** A Registry of the signed line goes on for 30 s with a first attempt whose answer was lost. */
const MAX_IN_PROGRESS_MS = 31_000
const IN_PROGRESS_WAIT_MS = 1000
const LONG_WAIT_MS = 10_000
const REPORT_EVERY_MS = 60_000

/**
 * Repeats a request byte for byte after a lost answer, and gets the first one's answer. Signs it again after
 * a 429, four minutes or, once, a 409. `Retry-After` (RFC 9110 10.2.3) delays all writes to the Registry. Five failures or
 * timeouts in a row end them, and ten minutes of 429. On the signed line a repeated request keeps its id, and is signed again.
 */
export class RegistryWriter {
  readonly #options: WriterOptions
  readonly #deadlineAt: number
  readonly #deadlineNote: string
  #resumeAt = 0
  #isLate = false
  #failuresInARow = 0
  #timeoutsInARow = 0
  /** Since when each answer is a 429. */
  #limitedSince: number | null = null
  #done = 0
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(options: WriterOptions) {
    const { deadline = DEFAULT_DEADLINE_SECONDS } = options
    this.#options = options
    this.#deadlineAt = monotonic() + deadline * 1000
    this.#deadlineNote = `the --deadline of ${deadline} s does not allow a later attempt`
  }

  /** Settles also where nothing is sent. @throws what is not a SourceError: an error of this program */
  async write(write: Write): Promise<WriteResult> {
    return this.#settle(write, await this.#send(write.sign))
  }

  /** The result of a write that is not sent. */
  skip(write: Write, note: string): WriteResult {
    return this.#settle(write, { outcome: null, mayBeApplied: false, note })
  }

  #settle(write: Write, attempts: Attempts): WriteResult {
    const { registry, signer, onResult } = this.#options
    const result = judgeWrite(attempts, write, registry, signer)
    if (result.outcome !== 'not_sent')
      this.#failuresInARow = isFailureOfRegistry(result) ? this.#failuresInARow + 1 : 0
    onResult(result, ++this.#done)
    return result
  }

  /** Why nothing more is sent: an interrupt, the deadline, or failures in a row. `null` as long as writes go on. */
  get end(): string | null {
    if (this.#options.signal.aborted) return INTERRUPTED
    if (this.#failuresInARow >= MAX_FAILURES_IN_A_ROW)
      return `skipped after ${MAX_FAILURES_IN_A_ROW} failures in a row`
    if (this.#timeoutsInARow >= MAX_TIMEOUTS_IN_A_ROW)
      return `skipped after ${MAX_TIMEOUTS_IN_A_ROW} requests in a row without an answer`
    if (this.#limitedSince !== null && monotonic() - this.#limitedSince >= MAX_LIMITED_MS)
      return `skipped after ${MAX_LIMITED_MS / 60_000} min of its rate limit`
    return this.#isLate || monotonic() >= this.#deadlineAt ? this.#deadlineNote : null
  }

  async #send(sign: Write['sign']): Promise<Attempts> {
    let signed: SignedWrite | null = null
    let requestId = randomUUID()
    let busyUntil = Number.POSITIVE_INFINITY
    const attempts: Attempts = { outcome: null, mayBeApplied: false }
    let failures = 0
    let earliestSecond = 0
    const { signal } = this.#options
    for (let attempt = 0; ; attempt++) {
      const end = await this.#turn()
      if (end !== null) return { ...attempts, note: end }
      if (signed === null || Date.now() - signed.timestamp * 1000 > MAX_SIGNATURE_AGE_MS) {
        signed = await sign(Math.max(nowSeconds(), earliestSecond))
        requestId = randomUUID()
      }
      const outcome = await this.#attempt(signed, requestId)
      attempts.outcome = outcome
      if (outcome === null) return { ...attempts, mayBeApplied: true, note: INTERRUPTED }
      attempts.mayBeApplied ||= mayHaveArrived(outcome)
      this.#note(outcome)
      if (isInProgress(outcome)) {
        busyUntil = Math.min(busyUntil, monotonic() + MAX_IN_PROGRESS_MS)
        if (monotonic() > busyUntil) return attempts
        await wait(IN_PROGRESS_WAIT_MS, signal)
        continue
      }
      if (statusIn(outcome) === 409 && earliestSecond === 0) {
        // Another write of the same second has this signature. A timer may fire before the next second begins.
        earliestSecond = signed.timestamp + 1
        await wait(earliestSecond * 1000 - Date.now(), signal)
        signed = null
        continue
      }
      const isLimited = statusIn(outcome) === 429
      if (!isLimited && (!isTransient(outcome) || failures === MAX_REPETITIONS)) return attempts
      const requestedMs = retryAfterMs(outcome)
      const waitMs =
        requestedMs ?? Math.min((isLimited ? LIMITED_MS : FIRST_WAIT_MS) * 2 ** attempt, MAX_WAIT_MS)
      if (monotonic() + waitMs > this.#deadlineAt) {
        this.#isLate = true
        return { ...attempts, note: this.#deadlineNote }
      }
      if (isLimited) signed = null
      else failures++
      if (outcome instanceof SourceError || (requestedMs === null && !isLimited)) await wait(waitMs, signal)
      else this.#delayWrites(waitMs, outcome)
    }
  }

  #note(outcome: ApiResponse | SourceError): void {
    const isTimeout = outcome instanceof SourceError && outcome.reason === 'timeout'
    this.#timeoutsInARow = isTimeout ? this.#timeoutsInARow + 1 : 0
    if (statusIn(outcome) === 429) this.#limitedSince ??= monotonic()
    else if (statusIn(outcome) !== null) this.#limitedSince = null
  }

  async #turn(): Promise<string | null> {
    // Timers count whole milliseconds.
    while (this.end === null && monotonic() < this.#resumeAt)
      await wait(Math.ceil(this.#resumeAt - monotonic()), this.#options.signal)
    return this.end
  }

  /** `null` after an interrupt. */
  async #attempt(
    { timestamp: _, path, ...request }: SignedWrite,
    requestId: string,
  ): Promise<ApiResponse | SourceError | null> {
    const { client, registry, signal, timeout = DEFAULT_TIMEOUT_SECONDS } = this.#options
    const timeoutMs = Math.max(1, Math.min(timeout * 1000, this.#deadlineAt - monotonic()))
    const url = endpointUrl(registry, `/${path}`)
    const sent = client.send({ ...request, url, key: registry.key, timeoutMs, registry, requestId })
    return raceAbort(sent, signal).catch((cause: unknown) => {
      if (signal.aborted) return null
      if (cause instanceof SourceError) return cause
      throw cause
    })
  }

  #delayWrites(waitMs: number, response: ApiResponse): void {
    const { registry, total, report } = this.#options
    const now = monotonic()
    const isWaiting = now < this.#resumeAt
    this.#resumeAt = Math.max(this.#resumeAt, now + waitMs)
    // Requests that were under way when the wait began are refused, too.
    if (isWaiting || (waitMs < LONG_WAIT_MS && now - this.#reportedAt < REPORT_EVERY_MS)) return
    this.#reportedAt = now
    const progress = `${this.#done} of ${total} done`
    report(
      `[registry] ${registry.url}: waiting ${Math.ceil(waitMs / 1000)} s, ${progress}: ${describeErrorResponse(response)}`,
    )
  }
}

/** Ends early at an interrupt. */
export const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(Math.max(0, ms), undefined, { signal }).catch(() => {})

function statusIn(outcome: ApiResponse | SourceError): number | null {
  return outcome instanceof SourceError ? null : outcome.status
}

function isTransient(outcome: ApiResponse | SourceError): boolean {
  return outcome instanceof SourceError ? traitsOf(outcome.reason).retry !== 'never' : outcome.status >= 500
}

function retryAfterMs(outcome: ApiResponse | SourceError): number | null {
  if (outcome instanceof SourceError) return null
  return parseRetryAfter(outcome.headers['retry-after'], Date.now())
}
