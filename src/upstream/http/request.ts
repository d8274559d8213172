import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import type { Trace } from '../../domain/trace.ts'
import { statusError } from './errors.ts'
import type { LinesOptions } from './lines.ts'

export type HttpResponse = { status: number; headers: IncomingHttpHeaders; body: Buffer }

/** What a request is for. */
export type Purpose = keyof typeof PURPOSES

type PurposeRules = {
  /** Where it waits for its turn. */
  lane: 'first' | 'single' | 'later' | 'none'
  isCounted: boolean
  isRetried: boolean
  /** Whether it fails at once while the circuit breaker is open. */
  isStopped: boolean
  /** What its outcome shows the circuit breaker. */
  evidence: Evidence
}

/**
 * A `proof` counts. A `hint` may fail alone: its failure starts a probe, and its answer ends a series of failures. The
 * answer of a `suspicion` proves nothing about listings.
 */
export type Evidence = 'proof' | 'hint' | 'suspicion' | 'none'

/** What the interceptors do with a request follows from what it is for. */
export const PURPOSES = {
  /** A first page of open listings, which every Registry can answer. */
  page: { lane: 'first', isCounted: true, isRetried: true, isStopped: true, evidence: 'proof' },
  /** A later page, or one that a reader has chosen. */
  chosen_page: { lane: 'later', isCounted: true, isRetried: true, isStopped: true, evidence: 'hint' },
  /** One listing by its id. */
  listing: { lane: 'single', isCounted: true, isRetried: true, isStopped: true, evidence: 'hint' },
  /** A page for the circuit breaker. */
  probe: { lane: 'first', isCounted: true, isRetried: false, isStopped: false, evidence: 'none' },
  /** Filter specs, publishers, counts and streams: they are rare, and the parts that need them repeat them. */
  detail: { lane: 'first', isCounted: false, isRetried: false, isStopped: true, evidence: 'none' },
  /** The stream of changes, which stays open: it takes no turn of others. */
  feed: { lane: 'none', isCounted: false, isRetried: false, isStopped: true, evidence: 'suspicion' },
  /** A request of a user's command, which may be a write. */
  command: { lane: 'first', isCounted: false, isRetried: false, isStopped: true, evidence: 'suspicion' },
} as const satisfies Record<string, PurposeRules>

/** What interceptors see: the request as undici sends it, and what we know of it. */
export type UpstreamRequest = Omit<Dispatcher.DispatchOptions, 'headers'> & {
  headers: Readonly<Record<string, string>>
  /** For messages. */
  upstream: string
  purpose: Purpose
  trace?: Trace | undefined
  /** Of a write on the signed line, the same in each attempt. */
  requestId?: string | undefined
  /** Of a success, after decompression. */
  maxBytes: number
  /** Connection, headers and body of one attempt together. */
  timeoutMs: number
  lines?: LinesOptions | undefined
  /**
   * Takes the whole answer of an attempt, decompressed, whatever its status. What it throws is the failure of the attempt. An
   * interceptor that checks answers wraps it.
   */
  read: (response: HttpResponse) => void
}

/** An interceptor of undici. Above `receive` its handlers get one `onResponseEnd` or one `onResponseError`. */
export type Interceptor = (dispatch: Dispatch) => Dispatch

export type Dispatch = (request: UpstreamRequest, handler: Dispatcher.DispatchHandler) => boolean

type Send = <Answer>(request: SendOptions, read: (response: HttpResponse) => Answer) => Promise<Answer>

type SendOptions = Pick<
  UpstreamRequest,
  'path' | 'purpose' | 'maxBytes' | 'lines' | 'trace' | 'requestId'
> & {
  /** Default GET. */
  method?: Dispatcher.HttpMethod
  /** JSON text. */
  body?: string | Uint8Array | undefined
  headers?: Readonly<Record<string, string>> | undefined
  /** Default: that of the upstream. */
  timeoutMs?: number | undefined
}

const ACCEPT_ENCODING = 'gzip, br'

/** An upstream as far as requests to it go. */
export type Endpoint = Pick<UpstreamOptions, 'name' | 'url' | 'key' | 'timeoutMs'>

/** Sends requests below the base URL, with its key. They reject with a `SourceError`, or what `read` throws. */
export function requestsTo({ name, url, key, timeoutMs }: Endpoint, dispatcher: Dispatcher): Send {
  const { origin, pathname } = new URL(url)
  const base = pathname.replace(/\/+$/, '')
  const common = {
    accept: 'application/json',
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': 'entrepot',
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
  }
  return <Answer>(options: SendOptions, read: (response: HttpResponse) => Answer) =>
    new Promise<Answer>((resolve, reject) => {
      const { method = 'GET', path, headers, body = null, lines } = options
      let answer: Answer
      const request: UpstreamRequest = {
        ...options,
        upstream: name,
        origin,
        path: base + path,
        method,
        headers: {
          ...common,
          ...(lines && { accept: lines.mediaType }),
          ...(body !== null && { 'content-type': 'application/json' }),
          ...headers,
        },
        body,
        timeoutMs: options.timeoutMs ?? timeoutMs,
        lines: lines && {
          ...lines,
          onLine: (line) => {
            rejectKeyEcho(line, key)
            lines.onLine(line)
          },
        },
        read: (response) => {
          rejectKeyEcho(response.body, key)
          answer = read(response)
        },
      }
      dispatcher.dispatch(request, {
        onResponseEnd: () => resolve(answer),
        onResponseError: (_controller, error) => reject(error),
      })
    })
}

type GetOptions = Pick<SendOptions, 'maxBytes' | 'headers' | 'lines' | 'timeoutMs'> & {
  /** Besides 200; default none. */
  expected?: readonly number[]
  /** Default `detail`. */
  purpose?: Purpose
}

/** For what an upstream answers besides pages of listings. Rejects with a `SourceError`. */
export type Get = (path: string, options: GetOptions) => Promise<HttpResponse>

export function createGet(upstream: Endpoint, dispatcher: Dispatcher, via: readonly string[] = []): Get {
  const send = requestsTo(upstream, dispatcher)
  const loop = loopHeaders(via)
  return (path, { expected = [], purpose = 'detail', headers, ...options }) =>
    send({ ...options, path, purpose, headers: { ...loop, ...headers } }, (response) => {
      if (response.status === 200 || expected.includes(response.status)) return response
      throw statusError(`${upstream.name}: ${path}`, response)
    })
}

/** `CDN-Loop` (RFC 8586) and `Via` (RFC 9110 section 7.6.3). */
export function loopHeaders(via: readonly string[]): Record<string, string> {
  return via.length === 0 ? {} : { 'cdn-loop': via.join(', '), via: via.map((id) => `1.1 ${id}`).join(', ') }
}

/** Shorter keys may occur in any answer. */
const MIN_KEY_LENGTH = 16

/**
 * Listings are served as received: a proxy that reflects headers would show our key to every reader.
 * @throws SourceError `bad_envelope`
 */
function rejectKeyEcho(body: Buffer, key: string | null): void {
  if (key !== null && key.length >= MIN_KEY_LENGTH && body.includes(key))
    throw new SourceError('bad_envelope', 'the answer repeats the key that we sent')
}

/** Calls `onEnd` once, with the error or `null`, before the handler. */
export function whenEnded(
  handler: Dispatcher.DispatchHandler,
  onEnd: (error: Error | null) => void,
): Dispatcher.DispatchHandler {
  let hasEnded = false
  const end = (error: Error | null) => {
    if (!hasEnded) onEnd(error)
    hasEnded = true
  }
  return {
    onResponseEnd: (controller, trailers) => {
      end(null)
      handler.onResponseEnd?.(controller, trailers)
    },
    onResponseError: (controller, error) => {
      end(error)
      handler.onResponseError?.(controller, error)
    },
  }
}

export const NOT_SENT: Dispatcher.DispatchController = {
  aborted: false,
  paused: false,
  reason: null,
  abort: () => {},
  pause: () => {},
  resume: () => {},
}
