import type { RequestListener, Server, ServerResponse } from 'node:http'
import { type Socket, Server as SocketServer } from 'node:net'
import { closeStalled } from './stalled-readers.ts'
import { answerUnreadable } from './unreadable-request.ts'

/** How often connections that have fallen idle are looked for, in ms. */
const SWEEP_INTERVAL = 50

/** The connections of a server, so that it can stop without cutting a request. */
export class Connections {
  /** Each with the answer to its newest request, `null` before the first. */
  readonly #newest = new Map<Socket, ServerResponse | null>()
  #draining = false

  /**
   * Watches a server that is not listening yet. `listener` answers its requests; bytes that are none get a problem.
   * @param stalledMs how long a reader may take nothing of a response; default: 30 s
   */
  watch(server: Server, listener: RequestListener, stalledMs?: number): void {
    closeStalled(server, () => this.#newest.keys(), stalledMs)
    server.on('connection', (socket: Socket) => {
      this.#newest.set(socket, null)
      socket.once('close', () => this.#newest.delete(socket))
    })
    server.on('request', (request, response) => {
      if (this.#draining) markLast(response, this.#newest.get(request.socket))
      this.#newest.set(request.socket, response)
      listener(request, response)
    })
    server.on('clientError', (cause: NodeJS.ErrnoException, socket: Socket) => {
      if (socket.writableEnded) return
      if (cause.code === 'ECONNRESET' || !this.#isSilent(socket)) socket.destroy(cause)
      else answerUnreadable(cause, socket)
    })
  }

  /**
   * Takes no further connection, answers every request on those that are there, and resolves when all have ended: each
   * behind an answer that says so (RFC 9112 section 9.6), or once it is idle.
   * @param idleMs how long an idle connection is left open, because its client may just be sending
   * @param mostMs after that what is left is cut
   */
  async drain(server: Server, { idleMs, mostMs }: { idleMs: number; mostMs: number }): Promise<void> {
    this.#draining = true
    for (const response of this.#newest.values()) if (response !== null) markLast(response)
    const sweepAt = performance.now() + idleMs
    // Behind the input that is already there, so that no request in it is mistaken for silence.
    const sweep = () => setImmediate(() => performance.now() >= sweepAt && this.#closeIdle(server))
    const sweeping = setInterval(sweep, SWEEP_INTERVAL)
    const cut = setTimeout(() => server.closeAllConnections(), mostMs)
    sweep()
    await stopListening(server)
    clearInterval(sweeping)
    clearTimeout(cut)
  }

  /** Whether the socket can be written to without breaking a response on it. */
  #isSilent(socket: Socket): boolean {
    const newest = this.#newest.get(socket) ?? null
    if (newest === null || newest.writableFinished) return socket.writable
    // A response that waits behind another one has no socket yet.
    return socket.writable && newest.socket !== null && !newest.headersSent
  }

  #closeIdle(server: Server): void {
    server.closeIdleConnections()
    // Node takes one on which nothing was ever sent for busy.
    for (const [socket, response] of this.#newest)
      if (response === null && socket.bytesRead === 0) socket.destroy()
  }
}

/** Of requests that were sent one behind the other, the last is answered last. */
const markLast = (response: ServerResponse, before?: ServerResponse | null): void => {
  if (before && !before.headersSent) before.removeHeader('Connection')
  if (!response.headersSent) response.setHeader('Connection', 'close')
}

/** Resolves when the last connection has ended. `http.Server`'s own `close` would end idle ones at once. */
const stopListening = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    SocketServer.prototype.close.call(server, () => {
      server.close() // ends its timers
      resolve()
    })
  })
