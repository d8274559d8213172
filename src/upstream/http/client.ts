import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, type ZlibOptions } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { SourceError } from '../../domain/source-error.ts'
import { toSourceError } from './errors.ts'

type HttpRequest = {
  origin: string
  path: string
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  headers: Readonly<Record<string, string>>
  body?: string | Uint8Array
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
export function send(dispatcher: Dispatcher, request: HttpRequest, name: string): Promise<HttpResponse> {
  return new Promise<HttpResponse>((resolve, reject) => {
    const { origin, path, method = 'GET', headers, body = null, maxBytes, timeoutMs } = request
    const collector = new Collector({ name, maxBytes, timeoutMs, resolve, reject })
    // A plain object without a signal costs least; the collector aborts by itself.
    dispatcher.dispatch({ origin, path, method, headers, body }, collector)
  }).then((response) => decompress(response, request.maxBytes, name))
}

/**
 * Passes a 200 body on without line feeds. `timeoutMs` bounds each silence, `maxStreamMs` the whole response.
 * @param onLine throws to end the response with that error
 */
export function sendForLines(
  dispatcher: Dispatcher,
  request: HttpRequest & { maxLineBytes: number; maxStreamMs: number },
  name: string,
  onLine: (line: Buffer, isNdjson: boolean) => void,
): Promise<HttpResponse> {
  return new Promise<HttpResponse>((resolve, reject) => {
    const { origin, path, headers, maxBytes, maxLineBytes, timeoutMs, maxStreamMs } = request
    const splitter = new LineSplitter(maxLineBytes, name, onLine)
    const collector = new Collector({ name, maxBytes, timeoutMs, maxStreamMs, resolve, reject, splitter })
    dispatcher.dispatch({ origin, path, method: 'GET', headers }, collector)
  }).then((response) => decompress(response, request.maxBytes, name))
}

type CollectorOptions = {
  name: string
  maxBytes: number
  timeoutMs: number
  resolve: (response: HttpResponse) => void
  reject: (error: unknown) => void
  splitter?: LineSplitter
  maxStreamMs?: number
}

/** undici calls the methods in the order below. */
class Collector implements Dispatcher.DispatchHandler {
  readonly #options: CollectorOptions
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
    const { name, timeoutMs } = options
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
    if (this.#options.splitter !== undefined)
      this.#options.splitter.isNdjson = /ndjson/i.test(headers['content-type'] ?? '')
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isDone) return
    const { maxBytes, name, splitter } = this.#options
    const isOk = this.#status === 200
    this.#size += chunk.length
    if (isOk && this.#size > maxBytes) {
      this.#fail(new SourceError('too_large', `${name}: the answer is longer than ${maxBytes} bytes`))
      return
    }
    if (!isOk || splitter === undefined) this.#chunks.push(chunk)
    else this.#pass(splitter, chunk)
    if (!isOk && this.#size > MAX_ERROR_BYTES) this.#succeed(true)
  }

  onResponseEnd(): void {
    const { splitter } = this.#options
    if (this.#isDone) return
    if (this.#status === 200 && splitter !== undefined) this.#guard(() => splitter.end())
    this.#succeed(false)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error)
  }

  #pass(splitter: LineSplitter, chunk: Buffer): void {
    const { maxStreamMs = 0, name } = this.#options
    this.#guard(() => splitter.push(chunk))
    if (performance.now() - this.#startedAt < maxStreamMs) this.#timer.refresh()
    else this.#fail(new SourceError('timeout', `${name}: the stream took longer than ${maxStreamMs} ms`))
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#fail(error)
    }
  }

  #succeed(isCutOff: boolean): void {
    if (this.#isDone) return
    const body = join(this.#chunks, this.#size)
    this.#finish()
    if (isCutOff) this.#abort(new Error('the rest of the body is not needed'))
    this.#options.resolve({ status: this.#status, headers: this.#headers, body })
  }

  #fail(error: unknown): void {
    if (this.#isDone) return
    this.#finish()
    this.#abort(error)
    this.#options.reject(toSourceError(error, this.#options.name))
  }

  #finish(): void {
    this.#isDone = true
    this.#chunks = []
    clearTimeout(this.#timer)
  }

  #abort(reason: unknown): void {
    if (this.#controller?.aborted === false)
      this.#controller.abort(reason instanceof Error ? reason : new Error('failed'))
  }
}

/** Not pooled: a cached page would keep the whole slab alive. */
function join(chunks: readonly Buffer[], size: number): Buffer {
  const whole = Buffer.allocUnsafeSlow(size)
  let end = 0
  for (const chunk of chunks) end += chunk.copy(whole, end)
  return whole
}

class LineSplitter {
  readonly #maxBytes: number
  readonly #name: string
  readonly #onLine: (line: Buffer, isNdjson: boolean) => void
  isNdjson = false
  #rest: Buffer[] = []
  #restSize = 0

  constructor(maxBytes: number, name: string, onLine: (line: Buffer, isNdjson: boolean) => void) {
    this.#maxBytes = maxBytes
    this.#name = name
    this.#onLine = onLine
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
    if (this.#restSize > 0) this.#onLine(join(this.#rest, this.#restSize), this.isNdjson)
    this.#rest = []
    this.#restSize = 0
  }

  #add(part: Buffer): void {
    if (part.length === 0) return
    this.#restSize += part.length
    if (this.#restSize > this.#maxBytes)
      throw new SourceError('too_large', `${this.#name}: a line is longer than ${this.#maxBytes} bytes`)
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
