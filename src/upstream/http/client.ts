import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, type ZlibOptions } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { MAX_TIMER_MS } from '../../domain/max-timer.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { toSourceError } from './errors.ts'

type HttpRequest = {
  origin: string
  path: string
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  headers: Readonly<Record<string, string>>
  body?: string | Uint8Array | undefined
  /** After decompression. */
  maxBytes: number
  /** Connection, headers and body together. */
  timeoutMs: number
}

export type HttpResponse = { status: number; headers: IncomingHttpHeaders; body: Buffer }

export const ACCEPT_ENCODING = 'gzip, br'
/** Enough for a problem and its `sources`. */
const MAX_ERROR_BYTES = 16 * 1024

/** The body of a success fails as `too_large` beyond `maxBytes`; that of an error is cut off. Rejects with a `SourceError`. */
export async function send(
  dispatcher: Dispatcher,
  request: HttpRequest,
  name: string,
  lines?: LinesOptions,
): Promise<HttpResponse> {
  const { origin, path, method = 'GET', headers, body = null, maxBytes } = request
  const response = await new Promise<HttpResponse>((resolve, reject) => {
    // A plain object without a signal costs least; the collector aborts by itself.
    const collector = collect({ request, name, lines, resolve, reject })
    dispatcher.dispatch({ origin, path, method, headers, body }, collector)
  })
  return decompress(response, maxBytes, name)
}

/** Takes the lines of a 200 NDJSON body, without their ends; `timeoutMs` then bounds each silence. */
export type LinesOptions = {
  maxLineBytes: number
  /** Of the whole response. */
  maxStreamMs: number
  /** Throws to end the response with that error. */
  onLine: (line: Buffer) => void
}

type CollectOptions = {
  request: HttpRequest
  name: string
  resolve: (response: HttpResponse) => void
  reject: (error: unknown) => void
  lines: LinesOptions | undefined
}

/** undici calls the methods in the order below. */
function collect({ request, name, lines, resolve, reject }: CollectOptions): Dispatcher.DispatchHandler {
  const { maxBytes, timeoutMs } = request
  const split = lines && splitLines(name, lines)
  const startedAt = performance.now()
  let controller: Dispatcher.DispatchController | null = null
  let isDone = false
  let status = 0
  let headers: IncomingHttpHeaders = {}
  let chunks: Buffer[] = []
  let size = 0
  const timer = setTimeout(
    () => fail(new SourceError('timeout', `${name}: no answer within ${timeoutMs} ms`)),
    Math.min(timeoutMs, MAX_TIMER_MS),
  )
  return {
    onRequestStart: (started) => {
      controller = started
      if (isDone) started.abort(new Error('timed out before it was sent'))
    },
    onResponseStart: (_controller, received, receivedHeaders) => {
      if (received < 200) return
      status = received
      headers = receivedHeaders
      const hasLines = /ndjson/i.test(headers['content-type'] ?? '')
      if (status === 200 && split && !hasLines) succeed()
    },
    onResponseData: (_controller, chunk) => {
      if (isDone) return
      size += chunk.length
      try {
        if (status < 300 && size > maxBytes)
          throw new SourceError('too_large', `${name}: the answer is longer than ${maxBytes} bytes`)
        if (status === 200 && split) takeLines(split, chunk)
        else chunks.push(chunk)
        if (status >= 300 && size > MAX_ERROR_BYTES) succeed()
      } catch (error) {
        fail(error)
      }
    },
    onResponseEnd: () => {
      controller = null
      try {
        if (status === 200 && !isDone) split?.(null)
        if (!isDone) succeed()
      } catch (error) {
        fail(error)
      }
    },
    onResponseError: (_controller, error) => fail(error),
  }

  function takeLines(split: SplitLines, chunk: Buffer): void {
    const { maxStreamMs } = lines!
    split(chunk)
    if (performance.now() - startedAt >= maxStreamMs)
      throw new SourceError('timeout', `${name}: the stream took longer than ${maxStreamMs} ms`)
    timer.refresh()
  }

  /** With what was received. */
  function succeed(): void {
    resolve({ status, headers, body: join(chunks) })
    finish()
  }

  function fail(error: unknown): void {
    reject(toSourceError(error, name))
    finish()
  }

  /** Ends the response, if it has not ended. */
  function finish(): void {
    isDone = true
    chunks = []
    clearTimeout(timer)
    if (controller?.aborted === false) controller.abort(new Error('the rest is not needed'))
  }
}

/** Not pooled: a cached page would keep the whole slab alive. */
function join(chunks: readonly Buffer[]): Buffer {
  const size = chunks.reduce((sum, { length }) => sum + length, 0)
  const whole = Buffer.allocUnsafeSlow(size)
  let end = 0
  for (const chunk of chunks) end += chunk.copy(whole, end)
  return whole
}

/** `null`: the end. */
type SplitLines = (chunk: Buffer | null) => void

function splitLines(name: string, { maxLineBytes, onLine }: LinesOptions): SplitLines {
  let rest: Buffer[] = []
  let size = 0
  return (chunk) => {
    if (chunk === null) return endLine()
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, end))
      endLine()
      start = end + 1
    }
    add(chunk.subarray(start))
  }

  function add(part: Buffer): void {
    if (part.length === 0) return
    size += part.length
    if (size > maxLineBytes)
      throw new SourceError('too_large', `${name}: a line is longer than ${maxLineBytes} bytes`)
    rest.push(part)
  }

  function endLine(): void {
    if (size > 0) onLine(join(rest))
    rest = []
    size = 0
  }
}

const LINE_FEED = 0x0a

async function decompress(response: HttpResponse, maxBytes: number, name: string): Promise<HttpResponse> {
  const encoding = response.headers['content-encoding']?.toString().trim().toLowerCase() ?? 'identity'
  if (encoding === 'identity' || encoding === '') return response
  const decode = DECODERS.get(encoding)
  if (decode === undefined)
    throw new SourceError(
      'not_json',
      `${name}: the answer has the Content-Encoding ${JSON.stringify(encoding)}`,
    )
  try {
    return { ...response, body: await decode(response.body, { maxOutputLength: maxBytes }) }
  } catch (error) {
    throw toSourceError(error, name)
  }
}

const DECODERS = new Map<string, (bytes: Buffer, options: ZlibOptions) => Promise<Buffer>>([
  ['gzip', promisify<Buffer, ZlibOptions, Buffer>(gunzip)],
  ['x-gzip', promisify<Buffer, ZlibOptions, Buffer>(gunzip)],
  ['deflate', promisify<Buffer, ZlibOptions, Buffer>(inflate)],
  ['br', promisify<Buffer, ZlibOptions, Buffer>(brotliDecompress)],
])
