import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, type ZlibOptions } from 'node:zlib'
import type { Dispatcher } from 'undici'
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

/** A 200 body beyond `maxBytes` fails as `too_large`; others are cut off. Rejects with a `SourceError`. */
export async function send(
  dispatcher: Dispatcher,
  request: HttpRequest,
  name: string,
  lines?: LinesOptions,
): Promise<HttpResponse> {
  const { origin, path, method = 'GET', headers, body = null, maxBytes } = request
  const response = await new Promise<HttpResponse>((resolve, reject) => {
    const collector = new Collector({ request, name, resolve, reject, lines })
    // A plain object without a signal costs least; the collector aborts by itself.
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

type CollectorOptions = {
  request: HttpRequest
  name: string
  resolve: (response: HttpResponse) => void
  reject: (error: unknown) => void
  lines: LinesOptions | undefined
}

/** undici calls the methods in the order below. */
class Collector implements Dispatcher.DispatchHandler {
  readonly #options: CollectorOptions
  readonly #splitter: LineSplitter | null
  readonly #timer: NodeJS.Timeout
  #controller: Dispatcher.DispatchController | null = null
  readonly #startedAt = performance.now()
  #isDone = false
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #chunks: Buffer[] = []
  #size = 0

  constructor(options: CollectorOptions) {
    this.#options = options
    const { name, lines, request } = options
    const { timeoutMs } = request
    this.#splitter = lines === undefined ? null : new LineSplitter(name, lines)
    this.#timer = setTimeout(
      () => this.#fail(new SourceError('timeout', `${name}: no answer within ${timeoutMs} ms`)),
      timeoutMs,
    )
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isDone) controller.abort(new Error('timed out before it was sent'))
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return
    this.#status = status
    this.#headers = headers
    const hasLines = /ndjson/i.test(headers['content-type'] ?? '')
    if (status === 200 && this.#splitter !== null && !hasLines) this.#succeed()
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isDone) return
    const { name, request } = this.#options
    const { maxBytes } = request
    const isOk = this.#status === 200
    this.#size += chunk.length
    try {
      if (isOk && this.#size > maxBytes)
        throw new SourceError('too_large', `${name}: the answer is longer than ${maxBytes} bytes`)
      if (isOk && this.#splitter !== null) this.#split(this.#splitter, chunk)
      else this.#chunks.push(chunk)
      if (!isOk && this.#size > MAX_ERROR_BYTES) this.#succeed()
    } catch (error) {
      this.#fail(error)
    }
  }

  onResponseEnd(): void {
    this.#controller = null
    try {
      if (this.#status === 200 && !this.#isDone) this.#splitter?.end()
      if (!this.#isDone) this.#succeed()
    } catch (error) {
      this.#fail(error)
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error)
  }

  #split(splitter: LineSplitter, chunk: Buffer): void {
    const { lines, name } = this.#options
    const { maxStreamMs } = lines!
    splitter.push(chunk)
    if (performance.now() - this.#startedAt >= maxStreamMs)
      throw new SourceError('timeout', `${name}: the stream took longer than ${maxStreamMs} ms`)
    this.#timer.refresh()
  }

  /** With what was received. */
  #succeed(): void {
    this.#options.resolve({ status: this.#status, headers: this.#headers, body: join(this.#chunks) })
    this.#finish()
  }

  #fail(error: unknown): void {
    this.#options.reject(toSourceError(error, this.#options.name))
    this.#finish()
  }

  /** Ends the response, if it has not ended. */
  #finish(): void {
    this.#isDone = true
    this.#chunks = []
    clearTimeout(this.#timer)
    if (this.#controller?.aborted === false) this.#controller.abort(new Error('the rest is not needed'))
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

class LineSplitter {
  readonly #name: string
  readonly #options: LinesOptions
  #rest: Buffer[] = []
  #restSize = 0

  constructor(name: string, options: LinesOptions) {
    this.#name = name
    this.#options = options
  }

  push(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.#add(chunk.subarray(start, end))
      this.end()
      start = end + 1
    }
    this.#add(chunk.subarray(start))
  }

  end(): void {
    if (this.#restSize > 0) this.#options.onLine(join(this.#rest))
    this.#rest = []
    this.#restSize = 0
  }

  #add(part: Buffer): void {
    if (part.length === 0) return
    const { maxLineBytes } = this.#options
    this.#restSize += part.length
    if (this.#restSize > maxLineBytes)
      throw new SourceError('too_large', `${this.#name}: a line is longer than ${maxLineBytes} bytes`)
    this.#rest.push(part)
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
