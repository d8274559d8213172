import type { IncomingMessage } from 'node:http'
import type Koa from 'koa'
import type { Clock } from '../../domain/clock.ts'
import { randomId } from '../../domain/random-id.ts'
import { safeText } from '../../domain/safe-text.ts'
import type { EntrepotError } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import { answerErrors } from './errors.ts'
import { recordedPath, recordedStatus, type traceOf as traceOfHeaders } from './tracing.ts'

/** Only with a status: the HTTP parser refused it. */
type AnsweredRequest = {
  requestId?: string
  traceId?: string | undefined
  method?: string
  path?: string
  status: number
  ms?: number
}

/** `error`: why it was refused, where its answer is a problem. */
export type OnAnswered = (request: AnsweredRequest, error: EntrepotError | null) => void

/** Sets `X-Request-Id`, answers errors, and reports every request. */
export const observeRequests =
  (onAnswered: OnAnswered, traceOf: typeof traceOfHeaders): Koa.Middleware =>
  async (context, next) => {
    const requestId = requestIdOf(context.req)
    context.set('X-Request-Id', requestId)
    const startedAt = performance.now()
    const error = await answerErrors(context, next)
    const { method, req, res } = context
    const ms = Math.round(performance.now() - startedAt)
    const traceId = traceOf(req)?.traceId
    const path = recordedPath(req)
    onAnswered({ requestId, traceId, method, path, status: recordedStatus(res), ms }, error)
  }

/** Of each reason in each window. */
const MAX_LINES = 60
const WINDOW_MS = 60_000
/** Longest text of a client in a line, in characters. */
const MAX_CLIENT_TEXT = 500

/** A line for each request: reads at `debug`, refusals with their reason, and within a budget. */
export class RequestLog {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #windows = new Map<string, { lines: number; level: Level }>()

  constructor(log: Logger, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  readonly write: OnAnswered = (request, error) => {
    const level = levelOf(request)
    const { status, path } = request
    const line = path === undefined ? request : { ...request, path: path.slice(0, MAX_CLIENT_TEXT) }
    if (status < 400) return this.#log[level](line, 'request')
    const reason = error?.code ?? NO_PROBLEM[status] ?? String(status)
    if (!this.#hasRoom(reason, level)) return
    const detail = error === null ? undefined : withoutQuotes(error.message).slice(0, MAX_CLIENT_TEXT)
    // Of a fault of this service, the stack.
    const err = status === 500 ? error?.cause : undefined
    this.#log[level]({ ...line, reason, detail, err }, 'request')
  }

  /** Counts what was left out until now. */
  close(): void {
    for (const reason of [...this.#windows.keys()]) this.#endWindow(reason)
  }

  #hasRoom(reason: string, level: Level): boolean {
    const window = this.#windows.get(reason) ?? { lines: 0, level }
    if (window.lines === 0) {
      this.#windows.set(reason, window)
      this.#clock.after(WINDOW_MS, () => this.#endWindow(reason))
    }
    window.lines++
    return window.lines <= MAX_LINES
  }

  #endWindow(reason: string): void {
    const { lines, level } = this.#windows.get(reason) ?? { lines: 0, level: 'info' }
    this.#windows.delete(reason)
    if (lines > MAX_LINES) this.#log[level]({ reason, count: lines - MAX_LINES }, 'request lines left out')
  }
}

type Level = 'debug' | 'info' | 'warn' | 'error'

function levelOf({ method, status }: AnsweredRequest): Level {
  if (status >= 500) return status === 500 ? 'error' : 'warn'
  return (method === 'GET' || method === 'HEAD') && status < 400 ? 'debug' : 'info'
}

/** Answers that are no problem. The log has the reason of the store. */
const NO_PROBLEM: Readonly<Record<number, string>> = { 499: 'client_closed', 503: 'unavailable' }

/** Details quote what the client sent, which may be private. Keys and signatures are long words. */
const withoutQuotes = (detail: string): string => safeText(detail.replace(/["'].*|\S{32,}/gs, '…'))

/** The caller's `X-Request-Id` if harmless, so that calls can be followed across services. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const sent = headers['x-request-id']
  return sent !== undefined && HARMLESS.test(String(sent)) ? String(sent) : randomId()
}

const HARMLESS = /^[\w.-]{1,64}$/
