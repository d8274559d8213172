import type { IncomingMessage, OutgoingHttpHeaders, RequestListener, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Reader } from '../domain/api-key.ts'
import type { CountResponse } from './metrics/request-metrics.ts'
import { gzipMinimum } from './middleware/accept.ts'
import { compressBody } from './middleware/compression.ts'
import type { RateLimit } from './middleware/rate-limit.ts'
import { requestIdOf } from './middleware/request-log.ts'
import type { Authorize } from './route.ts'

type CachedResponse = {
  plain: Representation
  /** Made for the first request that accepts it; a promise meanwhile. */
  gzipped: Representation | Promise<Representation> | null
  isCurrent: () => boolean
  count: CountResponse | null
  refresh: PendingRefresh | null
}

type Representation = {
  /** Names and values in turn; the last value is the request's id. */
  headers: string[]
  head: RepeatedHead | null
  body: Buffer
}

type CacheOptions = {
  authorize: Authorize
  rateLimit: RateLimit
  counter: (request: IncomingMessage, status: number) => CountResponse
  /** Counts a request until its response is sent or its connection closes. */
  observe?: (request: IncomingMessage, response: ServerResponse) => void
}

/** Bodies, plain and compressed, headers, URLs and `OVERHEAD_BYTES` of all responses. */
export const MAX_CACHED_BYTES = 64 * 1024 * 1024
const MAX_RESPONSES = 5000
const MAX_RESPONSE_BYTES = 1024 * 1024
/** Beside body and URL. Measured: 1.6 KiB in a Registry, 3.3 KiB in a gateway. */
const OVERHEAD_BYTES = 4096

/**
 * Sends complete responses again while everything that they were made of is unchanged. Every request passes
 * gate and limits; one with a header that could change the response goes to the application.
 */
export class ResponseCache {
  /** By URL. Readers with a key all see the same, and so do readers without. */
  readonly #responses: Record<Reader['kind'], LRUCache<string, CachedResponse>> = {
    anonymous: responsesByUrl(),
    key: responsesByUrl(),
  }
  /** Requests over their limit: the application refuses them without counting them again. */
  readonly #exceeded = new WeakMap<IncomingMessage, ReturnType<RateLimit>>()

  store(
    request: IncomingMessage,
    reader: Reader,
    {
      headers,
      body,
      gzipped,
      isCurrent,
    }: { headers: OutgoingHttpHeaders; body: Buffer; gzipped: Buffer | null; isCurrent: () => boolean },
  ): void {
    if (!isPlainRead(request)) return
    const responses = this.#responses[reader.kind]
    const before = responses.peek(request.url!)
    const plain = represent(sharedHeaders(headers), body)
    responses.set(request.url!, {
      plain,
      gzipped: gzipped && representGzipped(plain, gzipped),
      isCurrent,
      count: null,
      refresh: null,
    })
    before?.refresh?.end()
  }

  counted(request: IncomingMessage): ReturnType<RateLimit> {
    return this.#exceeded.get(request) ?? null
  }

  /** One request refreshes an outdated response while the others wait. `application` answers the rest. */
  listener(options: CacheOptions, application: RequestListener): RequestListener {
    const { authorize, rateLimit, counter, observe = () => {} } = options
    const pass = (request: IncomingMessage, response: ServerResponse, hasWaited: boolean): void => {
      if (!hasWaited) observe(request, response)
      application(request, response)
    }
    const answer = (request: IncomingMessage, response: ServerResponse, hasWaited: boolean): unknown => {
      const started = performance.now()
      const reader = isPlainRead(request) ? readerOf(request, authorize) : null
      const cached = reader === null ? undefined : this.#responses[reader.kind].get(request.url!)
      if (reader === null || cached === undefined) return pass(request, response, hasWaited)
      if (!cached.isCurrent()) {
        if (cached.refresh !== null && !hasWaited) {
          observe(request, response)
          return cached.refresh.ended.then(() => response.destroyed || answer(request, response, true))
        }
        cached.refresh ??= refreshBy(response, () => {
          cached.refresh = null
        })
        return pass(request, response, hasWaited)
      }
      const send = (sent: Representation, limits: Record<string, string> | null): void => {
        const { headers, body } = sent
        headers[headers.length - 1] = requestIdOf(request)
        if (limits === null) sent.head = writeRepeatedHead(response, headers, sent.head)
        else response.writeHead(200, [...headerPairs(limits), ...headers])
        response.end(body)
        if (hasWaited) return
        cached.count ??= counter(request, 200)
        cached.count(started, true)
      }
      const limits = rateLimit(request, 'read', reader)
      const accepted = request.headers['accept-encoding']
      const chosen = accepted === undefined ? cached.plain : this.#choose(request, accepted, reader, cached)
      if (limits === null && !(chosen instanceof Promise)) return send(chosen, null)
      return Promise.all([chosen, limits]).then(
        ([representation, headers]) => send(representation, headers),
        () => {
          this.#exceeded.set(request, limits!)
          pass(request, response, hasWaited)
        },
      )
    }
    return (request, response) => void answer(request, response, false)
  }

  /** Never rejects. */
  #choose(
    { url }: IncomingMessage,
    accepted: string,
    reader: Reader,
    cached: CachedResponse,
  ): Representation | Promise<Representation> {
    const { plain } = cached
    if (plain.body.length < gzipMinimum(accepted)) return plain
    cached.gzipped ??= compressBody(plain.body).then((body) => {
      cached.gzipped = body && representGzipped(plain, body)
      const responses = this.#responses[reader.kind]
      // Stored again, so that its new size counts.
      if (responses.peek(url!) === cached && responses.delete(url!)) responses.set(url!, cached)
      return cached.gzipped ?? plain
    })
    return cached.gzipped
  }
}

const responsesByUrl = (): LRUCache<string, CachedResponse> =>
  new LRUCache({
    max: MAX_RESPONSES,
    maxSize: MAX_CACHED_BYTES / 2,
    maxEntrySize: MAX_RESPONSE_BYTES,
    sizeCalculation: ({ plain, gzipped }, url) =>
      OVERHEAD_BYTES +
      url.length +
      sizeOf(plain) +
      (gzipped === null || gzipped instanceof Promise ? 0 : sizeOf(gzipped)),
  })

const sizeOf = ({ headers, body }: Representation): number =>
  body.length + headers.reduce((sum, text) => sum + text.length, 0)

const represent = (headers: string[], body: Buffer): Representation => ({
  headers: ['Content-Length', String(body.length), ...headers],
  head: null,
  body: detached(body),
})

const representGzipped = ({ headers: [, , ...headers] }: Representation, body: Buffer): Representation =>
  represent(['Content-Encoding', 'gzip', ...headers], body)

const headerPairs = (headers: OutgoingHttpHeaders): string[] =>
  Object.entries(headers).flatMap(([name, value]) => [value].flat().flatMap((one) => [name, String(one)]))

function sharedHeaders(sent: OutgoingHttpHeaders): string[] {
  const headers = { ...sent }
  for (const name of PER_REQUEST_HEADERS) delete headers[name]
  return [...headerPairs(headers), 'X-Request-Id', '']
}

const PER_REQUEST_HEADERS = [
  'content-length',
  'content-encoding',
  'x-request-id',
  'ratelimit',
  'ratelimit-policy',
  'server-timing',
]

/** A small buffer would retain the larger one that it is part of. */
function detached(body: Buffer): Buffer {
  if (body.buffer.byteLength === body.length) return body
  const own = Buffer.allocUnsafeSlow(body.length)
  body.copy(own)
  return own
}

/** `null` if the gate refuses the request: the application answers then. */
function readerOf(request: IncomingMessage, authorize: Authorize): Reader | null {
  try {
    return authorize('read', request.headers.authorization)
  } catch {
    return null
  }
}

const isPlainRead = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  headers['if-match'] === undefined &&
  headers['if-none-match'] === undefined &&
  headers['cache-control'] === undefined &&
  headers.pragma === undefined &&
  headers.origin === undefined &&
  headers['cdn-loop'] === undefined &&
  (headers.accept === undefined || !/ndjson|html/i.test(headers.accept))

/** Longest wait for another request's response: its connection may be slow. */
const MAX_REFRESH_MS = 1000

type PendingRefresh = {
  ended: Promise<void>
  end: () => void
}

/** @param response of the refreshing request; its close ends the wait */
function refreshBy(response: ServerResponse, onEnd: () => void): PendingRefresh {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const end = (): void => {
    clearTimeout(timer)
    response.off('close', end)
    onEnd()
    resolve()
  }
  const timer = setTimeout(end, MAX_REFRESH_MS).unref()
  response.once('close', end)
  return { ended, end }
}

type RepeatedHead = { second: number; before: string; after: string }

/** Private to Node. Without it, Node writes every head. */
type WithHead = ServerResponse & { _header?: unknown }

/**
 * Writes the head of a 200. Node's work on all headers takes longer than the rest of a cached response.
 * So Node writes one head a second, with its `Date`, and the others repeat it with their own id.
 * @param headers names and values in turn, Content-Length included; the last value is the request's id
 */
function writeRepeatedHead(
  response: ServerResponse,
  headers: readonly string[],
  repeated: RepeatedHead | null,
): RepeatedHead | null {
  const second = Math.floor(Date.now() / 1000)
  const id = headers.at(-1)!
  const staysOpen = response.shouldKeepAlive && !response.hasHeader('connection')
  if (repeated?.second === second && staysOpen) {
    const withHead: WithHead = response
    withHead._header = repeated.before + id + repeated.after
    return repeated
  }
  response.writeHead(200, headers as string[])
  const { _header: head } = response as WithHead
  if (!staysOpen || typeof head !== 'string') return repeated
  const name = `\r\n${headers.at(-2)}: `
  const at = head.lastIndexOf(name) + name.length
  return { second, before: head.slice(0, at), after: head.slice(at + id.length) }
}
