import { setTimeout as sleep } from 'node:timers/promises'
import { SourceError } from '../../domain/source/source-error.ts'
import type { SourceReason } from '../../domain/source/source-reason.ts'
import type { JsonObject } from '../../json/value.ts'
import { printStatus, type Terminal } from '../output/terminal.ts'
import {
  type ApiRequest,
  type ApiResponse,
  describeErrorResponse,
  type RegistryClient,
  readJsonObject,
} from './registry-client.ts'
import type { Registry, RegistryOptions } from './select-registries.ts'

export type WriteOptions = RegistryOptions & {
  keyFile?: string
  json?: boolean
  deadline?: number
}

export type WriteResult = {
  registry: string
  listing_id: string
  outcome: 'accepted' | 'refused' | 'no_answer'
  /** `null` without an answer. */
  status: number | null
  error?: string
  answer?: JsonObject
}

type WriterOptions = { terminal: Terminal; client: RegistryClient; deadline?: number | undefined }

/** 10,000 listings take 33 minutes at a limit of 300 a minute. */
const DEFAULT_DEADLINE_SECONDS = 3600

export type Signed = { timestamp: number; request: Omit<ApiRequest, 'key' | 'timeoutMs'> }

type Write = {
  listingId: string
  /** With the current second. */
  sign: () => Promise<Signed>
  /** Whether a refusal proves that an earlier attempt succeeded. */
  provesSuccess?: (response: ApiResponse) => boolean
}

/** The Registry recovers a signature and makes the write durable. */
const ATTEMPT_MS = 10_000
/** After no answer or a server error. */
const MAX_REPETITIONS = 2
const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 60_000
/** Registries accept a signature for five minutes. */
const MAX_SIGNATURE_AGE_MS = 240_000
const LONG_WAIT_MS = 10_000
const REPORT_EVERY_MS = 60_000

/**
 * Repeats a request byte for byte after a lost answer, and gets the first one's answer. Signs it again after
 * a 429 or four minutes. `Retry-After` (RFC 9110 10.2.3) delays all writes to the Registry.
 */
export class RegistryWriter {
  readonly #terminal: Terminal
  readonly #client: RegistryClient
  readonly #registry: Registry
  readonly #total: number
  readonly #deadlineAt: number
  readonly #deadlineNote: string
  #resumeAt = 0
  #isOver = false
  #done = 0
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(
    { terminal, client, deadline = DEFAULT_DEADLINE_SECONDS }: WriterOptions,
    registry: Registry,
    total: number,
  ) {
    this.#terminal = terminal
    this.#client = client
    this.#registry = registry
    this.#total = total
    this.#deadlineAt = Date.now() + deadline * 1000
    this.#deadlineNote = `the --deadline of ${deadline} s does not allow a later attempt`
  }

  async write({ listingId, sign, provesSuccess }: Write): Promise<WriteResult> {
    const subject = { registry: this.#registry.url, listing_id: listingId }
    try {
      const { response, isRepetition, note } = await this.#send(sign)
      if (isRepetition && provesSuccess?.(response))
        return toWriteResult(subject, { ...response, status: 204 })
      const result = toWriteResult(subject, response)
      return note === undefined ? result : { ...result, error: `${result.error}; ${note}` }
    } catch (cause) {
      return toFailedWrite(subject, cause)
    } finally {
      this.#done++
    }
  }

  async #send(sign: Write['sign']): Promise<Sent> {
    let signed: Signed | null = null
    let outcome: ApiResponse | SourceError = new SourceError('timeout', `not sent: ${this.#deadlineNote}`)
    let failures = 0
    for (let attempt = 0; ; attempt++) {
      if (!(await this.#isTurn())) return sent(outcome, failures, this.#deadlineNote)
      if (signed === null || Date.now() - signed.timestamp * 1000 > MAX_SIGNATURE_AGE_MS)
        signed = await sign()
      outcome = await this.#attempt(signed.request)
      const isLimited = statusIn(outcome) === 429
      if (!isLimited && (!isTransient(outcome) || failures === MAX_REPETITIONS))
        return sent(outcome, failures)
      const requestedMs = retryAfterMs(outcome)
      const waitMs = requestedMs ?? Math.min(FIRST_WAIT_MS * 2 ** attempt, MAX_WAIT_MS)
      if (Date.now() + waitMs > this.#deadlineAt) {
        this.#isOver = true
        return sent(outcome, failures, this.#deadlineNote)
      }
      if (isLimited) signed = null
      else failures++
      if (outcome instanceof SourceError || (requestedMs === null && !isLimited)) await sleep(waitMs)
      else this.#delayWrites(waitMs, outcome)
    }
  }

  /** After the deadline, or when `Retry-After` exceeds it. */
  get isOver(): boolean {
    return this.#isOver || Date.now() >= this.#deadlineAt
  }

  async #isTurn(): Promise<boolean> {
    while (!this.isOver && Date.now() < this.#resumeAt) await sleep(this.#resumeAt - Date.now())
    return !this.isOver
  }

  async #attempt(request: Signed['request']): Promise<ApiResponse | SourceError> {
    const { key } = this.#registry
    return this.#client.send({ ...request, key, timeoutMs: ATTEMPT_MS }).catch((cause: unknown) => {
      if (cause instanceof SourceError) return cause
      throw cause
    })
  }

  #delayWrites(waitMs: number, response: ApiResponse): void {
    const now = Date.now()
    this.#resumeAt = Math.max(this.#resumeAt, now + waitMs)
    if (waitMs < LONG_WAIT_MS && now - this.#reportedAt < REPORT_EVERY_MS) return
    this.#reportedAt = now
    const progress = `${this.#done} of ${this.#total} done`
    printStatus(
      this.#terminal,
      `[registry] ${this.#registry.url}: waiting ${Math.ceil(waitMs / 1000)} s, ${progress}: ${describeErrorResponse(response)}`,
    )
  }
}

type Sent = { response: ApiResponse; isRepetition: boolean; note?: string | undefined }

function sent(outcome: ApiResponse | SourceError, failures: number, note?: string): Sent {
  if (outcome instanceof SourceError) throw outcome
  return { response: outcome, isRepetition: failures > 0, note }
}

function statusIn(outcome: ApiResponse | SourceError): number | null {
  return outcome instanceof SourceError ? null : outcome.status
}

const TRANSIENT: ReadonlySet<SourceReason> = new Set([
  'timeout',
  'connection_refused',
  'connection_reset',
  'dns',
])

function isTransient(outcome: ApiResponse | SourceError): boolean {
  return outcome instanceof SourceError ? TRANSIENT.has(outcome.reason) : outcome.status >= 500
}

function retryAfterMs(outcome: ApiResponse | SourceError): number | null {
  if (outcome instanceof SourceError) return null
  const value = outcome.headers['retry-after']?.trim() ?? ''
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isNaN(ms) ? null : Math.max(ms, FIRST_WAIT_MS)
}

type Subject = Pick<WriteResult, 'registry' | 'listing_id'>

const toWriteResult = (subject: Subject, response: ApiResponse): WriteResult =>
  response.status < 300
    ? { ...subject, outcome: 'accepted', status: response.status, answer: readJsonObject(response) }
    : { ...subject, outcome: 'refused', status: response.status, error: describeErrorResponse(response) }

/** @throws `cause` unless it is a SourceError: an error of this program is not a result */
function toFailedWrite(subject: Subject, cause: unknown): WriteResult {
  if (!(cause instanceof SourceError)) throw cause
  const error = `${cause.reason}: ${cause.message}`
  return { ...subject, outcome: 'no_answer', status: null, error }
}
