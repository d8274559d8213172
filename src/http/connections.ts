import { type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import { type Socket, Server as SocketServer } from 'node:net'
import { type Clock, systemClock } from '../domain/clock.ts'
import { EntrepotError } from '../errors.ts'
import { PROBLEM_TYPE, renderProblem } from './middleware/errors.ts'
import { COMMON_HEADERS } from './middleware/headers.ts'

/** In ms. */
const SWEEP_INTERVAL = 50

type WatchOptions = {
  stalledMs?: number | undefined
  onRefused?: (error: EntrepotError) => void
}

/** Tracks a server's connections, so that it can stop without cutting a request. */
export class Connections {
  /** The response to each connection's newest request; `null` before the first. */
  readonly #newest = new Map<Socket, ServerResponse | null>()
  readonly #clock: Clock
  #draining = false

  constructor(clock = systemClock) {
    this.#clock = clock
  }

  /**
   * Call before the server listens. A connection closes after `stalledMs` without progress; default 30 s.
   * `onRefused`: of input that is not a request.
   */
  watch(
    server: Server,
    listener: RequestListener,
    { stalledMs, onRefused = () => {} }: WatchOptions = {},
  ): void {
    closeStalled(server, () => this.#newest.keys(), stalledMs)
    server.on('connection', (socket: Socket) => {
      this.#newest.set(socket, null)
      socket.once('close', () => this.#newest.delete(socket))
    })
    server.on('request', (request, response) => {
      if (this.#draining) closeAfter(response, this.#newest.get(request.socket))
      this.#newest.set(request.socket, response)
      listener(request, response)
    })
    // Node would answer 417 by itself. An unknown expectation may be ignored (RFC 9110 section 10.1.1).
    server.on('checkExpectation', (request, response) => server.emit('request', request, response))
    server.on('clientError', (cause: NodeJS.ErrnoException, socket: Socket) => {
      if (socket.writableEnded) return
      if (cause.code === 'ECONNRESET' || !this.#canAnswer(socket)) socket.destroy(cause)
      else {
        const error = toError(cause)
        answerInvalidRequest(error, socket)
        onRefused(error)
      }
    })
  }

  /**
   * Answers all requests, the last ones with `Connection: close` (RFC 9112 section 9.6), then resolves.
   * @param idleMs how long idle connections stay open, because a client may be sending
   * @param maxMs time until the remaining connections are cut
   */
  async drain(server: Server, { idleMs, maxMs }: { idleMs: number; maxMs: number }): Promise<number> {
    this.#draining = true
    for (const response of this.#newest.values()) if (response !== null) closeAfter(response)
    const { after } = this.#clock
    const sweep = (): void => {
      // After pending input is read: a connection with an unread request is not idle.
      setImmediate(() => this.#closeIdle(server))
      cancelSweep = after(SWEEP_INTERVAL, sweep)
    }
    let cancelSweep = after(idleMs, sweep)
    let cut = 0
    const cancelCut = after(maxMs, () => {
      cut = this.#newest.size
      server.closeAllConnections()
    })
    await stopListening(server)
    cancelSweep()
    cancelCut()
    return cut
  }

  /** Whether a problem can be written without breaking a response in progress. */
  #canAnswer(socket: Socket): boolean {
    const newest = this.#newest.get(socket) ?? null
    if (newest === null || newest.writableFinished) return socket.writable
    // A pipelined response that waits for another has no socket yet.
    return socket.writable && newest.socket !== null && !newest.headersSent
  }

  #closeIdle(server: Server): void {
    server.closeIdleConnections()
    // Node counts a connection without any input as busy.
    for (const [socket, response] of this.#newest)
      if (response === null && socket.bytesRead === 0) socket.destroy()
  }
}

/** Only the last of pipelined responses may close the connection. */
function closeAfter(response: ServerResponse, before?: ServerResponse | null): void {
  if (before && !before.headersSent) before.removeHeader('Connection')
  if (!response.headersSent) response.setHeader('Connection', 'close')
}

/** `http.Server#close` would cut idle connections at once. */
const stopListening = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    SocketServer.prototype.close.call(server, () => {
      server.close() // ends its timers
      resolve()
    })
  })

const DEFAULT_STALLED_MS = 30_000

const MAX_CHECKS = 3

type Progress = { written: number; unsent: number; checks: number }

/** Closes connections whose client reads nothing of a response. Bytes from the client are not progress. */
function closeStalled(server: Server, sockets: () => Iterable<Socket>, stalledMs = DEFAULT_STALLED_MS): void {
  let before = new Map<Socket, Progress>()
  const check = (): void => {
    const now = new Map<Socket, Progress>()
    for (const socket of sockets()) {
      const progress = { written: socket.bytesWritten, unsent: unsentBytes(socket), checks: 0 }
      if (progress.unsent === 0) continue
      const last = before.get(socket)
      if (last?.written === progress.written && last.unsent === progress.unsent)
        progress.checks = last.checks + 1
      if (progress.checks < MAX_CHECKS) now.set(socket, progress)
      else socket.destroy()
    }
    before = now
  }
  const checking = setInterval(check, stalledMs / MAX_CHECKS).unref()
  server.once('close', () => clearInterval(checking))
}

/** Node's documented counts change only when a write ends; its handle follows the kernel. */
function unsentBytes(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}

export const MAX_HEADER_BYTES = 64 * 1024

/** The rest of a refused request is read and dropped: a reset could overtake the response. */
const LINGER_MS = 2000

function answerInvalidRequest(error: EntrepotError, socket: Socket): void {
  const { status, headers, body } = renderProblem(error)
  const lines = [
    ...COMMON_HEADERS,
    ...Object.entries(headers),
    ['Content-Type', PROBLEM_TYPE],
    ['Content-Length', String(Buffer.byteLength(body))],
    ['Connection', 'close'],
  ].map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
  const closing = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(closing))
}

function toError({ code }: NodeJS.ErrnoException): EntrepotError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new EntrepotError(
        'headers_too_large',
        `The request line and headers are larger than ${MAX_HEADER_BYTES} bytes, or the headers are too many`,
        { limit: 'header_bytes' },
      )
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new EntrepotError('too_large', 'The chunk extensions are too large')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new EntrepotError('request_timeout', 'The request took too long to arrive')
    default:
      return new EntrepotError('bad_request', 'The request is not valid HTTP')
  }
}
