import type { RequestListener, Server, ServerResponse } from 'node:http'
import { type Socket, Server as SocketServer } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, systemClock } from '../domain/clock.ts'
import { EntrepotError } from '../errors.ts'
import { PROBLEM_TYPE, renderProblem } from './middleware/errors.ts'
import { COMMON_HEADERS } from './middleware/headers.ts'
import { STATUS_CODES } from './node-http.ts'

/** In ms. */
const SWEEP_INTERVAL = 50
/** Requests of a connection that wait for their turn. With more of them, the connection is not read. */
const MAX_WAITING = 16
/** Turns of the event loop without a new connection, after which none is pending. */
const QUIET_TURNS = 3
/** Clients that keep connecting do not hold up the end. */
const MAX_ACCEPT_TURNS = 1000

type WatchOptions = {
  stalledMs?: number | undefined
  onRefused?: (error: EntrepotError) => void
}

type Connection = {
  /** The response to its newest request; `null` before the first. */
  newest: ServerResponse | null
  /** Requests that were received behind one in work. */
  waiting: number
}

/**
 * Tracks a server's connections, so that it can stop without cutting a request. Requests of one connection are handled
 * one after the other, each once the response before it is sent.
 */
export class Connections {
  readonly #connections = new Map<Socket, Connection>()
  readonly #clock: Clock
  #accepted = 0
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
    closeStalled(server, () => this.#connections.keys(), stalledMs)
    server.on('connection', (socket: Socket) => {
      this.#accepted++
      const connection: Connection = { newest: null, waiting: 0 }
      this.#connections.set(socket, connection)
      socket.once('close', () => this.#connections.delete(socket))
      // Node resumes a connection whenever it has sent or read something.
      socket.on('resume', () => {
        if (connection.waiting >= MAX_WAITING) socket.pause()
      })
    })
    server.on('request', (request, response) => {
      const connection = this.#connections.get(request.socket)
      if (connection === undefined) return
      if (this.#draining) closeAfter(response, connection.newest)
      connection.newest = response
      if (response.socket !== null) listener(request, response)
      else waitForTurn(response, connection, request.socket, () => listener(request, response))
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
    for (const { newest } of this.#connections.values()) if (newest !== null) closeAfter(newest)
    const { after } = this.#clock
    const sweep = (): void => {
      // After pending input is read: a connection with an unread request is not idle.
      setImmediate(() => this.#closeIdle(server))
      cancelSweep = after(SWEEP_INTERVAL, sweep)
    }
    let cancelSweep = after(idleMs, sweep)
    let cut = 0
    const cancelCut = after(maxMs, () => {
      cut = this.#connections.size
      server.closeAllConnections()
    })
    await this.#acceptPending()
    await stopListening(server)
    cancelSweep()
    cancelCut()
    return cut
  }

  /**
   * The system resets connections that Node has not accepted when the server stops listening. Node accepts one in each turn
   * of the event loop.
   */
  async #acceptPending(): Promise<void> {
    let quietTurns = 0
    for (let turns = 0; quietTurns < QUIET_TURNS && turns < MAX_ACCEPT_TURNS; turns++) {
      const before = this.#accepted
      await nextTurn()
      quietTurns = this.#accepted === before ? quietTurns + 1 : 0
    }
  }

  /** Whether a problem can be written without breaking a response in progress. */
  #canAnswer(socket: Socket): boolean {
    const newest = this.#connections.get(socket)?.newest ?? null
    if (newest === null || newest.writableFinished) return socket.writable
    // A pipelined response that waits for another has no socket yet.
    return socket.writable && newest.socket !== null && !newest.headersSent
  }

  #closeIdle(server: Server): void {
    server.closeIdleConnections()
    // Node counts a connection without any input as busy.
    for (const [socket, { newest }] of this.#connections)
      if (newest === null && socket.bytesRead === 0) socket.destroy()
  }
}

/**
 * Node gives a pipelined response its socket once the one before it is sent. Each is handled in a turn of its own, so
 * that other connections are answered between them.
 */
function waitForTurn(
  response: ServerResponse,
  connection: Connection,
  socket: Socket,
  handle: () => void,
): void {
  if (++connection.waiting === MAX_WAITING) socket.pause()
  response.once('socket', () => {
    if (connection.waiting-- === MAX_WAITING) socket.resume()
    setImmediate(() => response.destroyed || handle())
  })
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

type Progress = { written: number; checks: number }

/**
 * Closes connections whose client reads nothing of a response. Bytes from the client are not progress. A long body is
 * written in parts (`middleware/answer/respond.ts`), since Node counts a write when it has ended.
 */
function closeStalled(server: Server, sockets: () => Iterable<Socket>, stalledMs = DEFAULT_STALLED_MS): void {
  let before = new Map<Socket, Progress>()
  const check = (): void => {
    const now = new Map<Socket, Progress>()
    for (const socket of sockets()) {
      if (socket.writableLength === 0) continue
      const progress = { written: socket.bytesWritten, checks: 0 }
      const last = before.get(socket)
      if (last?.written === progress.written) progress.checks = last.checks + 1
      if (progress.checks < MAX_CHECKS) now.set(socket, progress)
      else socket.destroy()
    }
    before = now
  }
  const checking = setInterval(check, stalledMs / MAX_CHECKS).unref()
  server.once('close', () => clearInterval(checking))
}

export const MAX_HEADER_BYTES = 64 * 1024

/** The rest of a refused request is read and dropped: a reset could overtake the response. */
const LINGER_MS = 2000

function answerInvalidRequest(error: EntrepotError, socket: Socket): void {
  const { status, headers, body } = renderProblem(error)
  const all = {
    ...COMMON_HEADERS,
    ...headers,
    'Content-Type': PROBLEM_TYPE,
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
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
