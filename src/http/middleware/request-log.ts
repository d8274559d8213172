import type { IncomingMessage } from 'node:http'
import { keyOf } from '../../domain/api-key.ts'
import type { Clock } from '../../domain/clock.ts'
import { safeText } from '../../domain/safe-text.ts'
import type { EntrepotError } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import { publisherOf } from '../../signing/principal.ts'
import type { KoaContext, Middleware } from '../request-state.ts'
import type { Gate, LogMembers } from '../route.ts'
import { routePathOf } from './router.ts'
import { recordedPath, recordedStatus } from './tracing.ts'

/** Only with a status: the HTTP parser refused it. */
type AnsweredRequest = {
  requestId?: string
  traceId?: string | undefined
  method?: string
  url?: string | undefined
  /** As in the route table. */
  route?: string | undefined
  status: number
  ms?: number
  /** Of the API key that it came with. */
  keyId?: number | undefined
  /** Who signed it, on the signed line. */
  principal?: string | undefined
  /** The gate that its credential did not open. */
  refusedAt?: Gate | undefined
  client?: () => string
  /** What handlers add. */
  notes?: LogMembers | undefined
}

/** `error`: why it was refused, where its answer is a problem. */
export type OnAnswered = (request: AnsweredRequest, error: EntrepotError | null) => void

/**
 * Reports every request once its answer is made, or why it has none.
 * @param nameClient the client's address, or a text for it
 */
export function reportRequests(
  nameClient: (request: IncomingMessage) => string,
  onAnswered: OnAnswered = () => {},
): Middleware {
  return async (context, next) => {
    const startedAt = performance.now()
    await next()
    const { req, res, state } = context
    onAnswered(
      {
        requestId: state.headers['X-Request-Id']!,
        traceId: state.trace?.traceId,
        method: req.method!,
        url: req.url,
        route: routePathOf(context),
        status: recordedStatus(res),
        ms: Math.round(performance.now() - startedAt),
        // Refused before the gate, it has no caller.
        keyId: state.caller && keyOf(state.caller)?.id,
        principal: state.signed && publisherOf(state.signed.request.principal),
        refusedAt: refusedAt(context),
        client: () => nameClient(req),
        notes: state.notes,
      },
      state.problem ?? null,
    )
  }
}

function refusedAt({ req, state }: KoaContext): Gate | undefined {
  const { caller, problem, route } = state as Partial<typeof state>
  const isRefusal = problem?.status === 401 || problem?.status === 403
  return isRefusal && caller === undefined && req.headers.authorization !== undefined
    ? route?.gate
    : undefined
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
    const { status } = request
    if (status < 400) {
      if (this.#log.isLevelEnabled(level)) this.#log[level](lineOf(request), 'request')
      return
    }
    const reason = error?.code ?? NO_PROBLEM[status] ?? String(status)
    if (!this.#hasRoom(reason, level)) return
    const detail = error === null ? undefined : withoutQuotes(error.logged).slice(0, MAX_CLIENT_TEXT)
    // Of a fault of this service, the stack.
    const err = status === 500 ? error?.cause : undefined
    const limit = error?.limit
    this.#log[level]({ ...lineOf(request), reason, limit, detail, err }, 'request')
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

const lineOf = ({ url, keyId, principal, client, notes, ...request }: AnsweredRequest) => {
  const { requestId, traceId, method, status, ms } = request
  return {
    requestId,
    traceId,
    method,
    path: url === undefined ? undefined : recordedPath(url).slice(0, MAX_CLIENT_TEXT),
    status,
    ms,
    // The member `key` would be redacted.
    key_id: keyId,
    principal,
    client: client?.(),
    ...notes,
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
