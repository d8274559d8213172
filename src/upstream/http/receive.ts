import type { IncomingHttpHeaders } from 'node:http'
import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { MAX_TIMER_MS } from '../../domain/max-timer.ts'
import type { SourceReason } from '../../domain/source/reasons.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { toSourceError } from './errors.ts'
import { join, type LinesOptions, type Sink, splitLines } from './lines.ts'
import { type Interceptor, NOT_SENT, type UpstreamRequest } from './request.ts'

/** Enough for a problem and its `sources`. */
const MAX_ERROR_BYTES = 16 * 1024

/**
 * Receives one whole answer in the time and size of the request, and calls its `read`. The body of a success fails as
 * `too_large` beyond `maxBytes`; that of an error is cut off. Errors are SourceErrors, or faults of ours.
 */
export const receive: Interceptor = (dispatch) => (request, handler) =>
  dispatch(request, new Receiver(request, handler))

/** undici calls the methods in the order below. */
class Receiver implements Dispatcher.DispatchHandler {
  readonly #request: UpstreamRequest
  readonly #handler: Dispatcher.DispatchHandler
  readonly #timer: NodeJS.Timeout
  readonly #startedAt = performance.now()
  #controller: Dispatcher.DispatchController = NOT_SENT
  #isReceived = false
  #isDone = false
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #chunks: Buffer[] = []
  #size = 0
  #decoder: Transform | null = null
  #sink: Sink = () => {}

  constructor(request: UpstreamRequest, handler: Dispatcher.DispatchHandler) {
    this.#request = request
    this.#handler = handler
    const { timeoutMs } = request
    const end = () => this.#fail(this.#error('timeout', `no answer within ${timeoutMs} ms`))
    this.#timer = setTimeout(end, Math.min(timeoutMs, MAX_TIMER_MS))
    request.lines?.signal?.addEventListener('abort', this.#onAbort)
  }

  readonly #onAbort = (): void => this.#fail(this.#request.lines?.signal?.reason)

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isDone) controller.abort(new Error('timed out before it was sent'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#status = status
    this.#headers = headers
    const { lines } = this.#request
    this.#attempt(() => {
      if (status !== 200 || lines === undefined) this.#sink = this.#decode((chunk) => this.#collect(chunk))
      else if (isOfType(headers, lines.mediaType)) this.#sink = this.#streamTo(lines)
      else throw this.#error('bad_envelope', `the answer is not ${lines.mediaType}`)
    })
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#attempt(() => this.#sink(chunk))
  }

  onResponseEnd(): void {
    this.#isReceived = true
    this.#attempt(() => this.#sink(null))
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#isReceived = true
    this.#fail(error)
  }

  #collect(chunk: Buffer | null): void {
    if (chunk === null) {
      this.#succeed()
      return
    }
    const { maxBytes } = this.#request
    this.#size += chunk.length
    if (this.#status < 300 && this.#size > maxBytes)
      throw this.#error('too_large', `the answer is longer than ${maxBytes} bytes`)
    this.#chunks.push(chunk)
    if (this.#status >= 300 && this.#size > MAX_ERROR_BYTES) this.#succeed()
  }

  #streamTo(options: LinesOptions): Sink {
    const split = splitLines(this.#request.upstream, options)
    const { maxStreamMs } = options
    const waitOn =
      (sink: Sink): Sink =>
      (chunk) => {
        if (performance.now() - this.#startedAt >= maxStreamMs)
          throw this.#error('timeout', `the stream took longer than ${maxStreamMs} ms`)
        this.#timer.refresh()
        sink(chunk)
      }
    const decoding = this.#decode(
      waitOn((chunk) => {
        split(chunk)
        if (chunk === null) this.#succeed()
      }),
    )
    return waitOn(decoding)
  }

  /** Receives no faster than it decodes. */
  #decode(sink: Sink): Sink {
    const { 'content-encoding': encoding = '', ...headers } = this.#headers
    const name = encoding.trim().toLowerCase()
    if (name === '' || name === 'identity') return sink
    const decoder = DECODERS.get(name)?.({ chunkSize: DECODED_BYTES })
    // Its name may repeat our key, and is logged.
    if (decoder === undefined) throw this.#error('not_json', 'the answer has an unknown Content-Encoding')
    this.#headers = headers
    this.#decoder = decoder
    let isEmpty = true
    decoder
      .on('data', (chunk: Buffer) => this.#attempt(() => sink(chunk)))
      .on('end', () => this.#attempt(() => sink(null)))
      .on('error', (error) => this.#fail(error))
      .on('drain', () => this.#controller.resume())
    return (chunk) => {
      // An answer without a body, such as a 304, may name the encoding of the body that it stands for.
      if (chunk === null) return isEmpty ? sink(null) : void decoder.end()
      isEmpty = false
      if (!decoder.write(chunk)) this.#controller.pause()
    }
  }

  #attempt(work: () => void): void {
    try {
      if (!this.#isDone) work()
    } catch (error) {
      this.#fail(error)
    }
  }

  /** With what was received. */
  #succeed(): void {
    const response = { status: this.#status, headers: this.#headers, body: join(this.#chunks) }
    this.#finish()
    try {
      this.#request.read(response)
      this.#handler.onResponseEnd?.(this.#controller, {})
    } catch (error) {
      this.#report(error)
    }
  }

  #fail(error: unknown): void {
    if (this.#isDone) return
    this.#finish()
    this.#report(error)
  }

  #report(error: unknown): void {
    const reported = toSourceError(error, this.#request.upstream)
    this.#handler.onResponseError?.(this.#controller, reported as Error)
  }

  #error(reason: SourceReason, what: string): SourceError {
    return new SourceError(reason, `${this.#request.upstream}: ${what}`)
  }

  /** Ends the response, if it has not ended. */
  #finish(): void {
    this.#isDone = true
    this.#chunks = []
    clearTimeout(this.#timer)
    this.#request.lines?.signal?.removeEventListener('abort', this.#onAbort)
    this.#decoder?.destroy()
    if (!this.#isReceived && !this.#controller.aborted)
      this.#controller.abort(new Error('the rest is not needed'))
  }
}

/** Some servers name NDJSON without its `x-`. */
function isOfType({ 'content-type': type = '' }: IncomingHttpHeaders, mediaType: string): boolean {
  return type.toLowerCase().includes(mediaType.slice(mediaType.indexOf('/') + 1).replace('x-', ''))
}

/** Few steps for a page: each costs a turn of a thread. */
const DECODED_BYTES = 128 * 1024

const DECODERS = new Map<string, (options: { chunkSize: number }) => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
])
