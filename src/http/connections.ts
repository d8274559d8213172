import type { RequestListener, Server, ServerResponse } from 'node:http'
import { type Socket, Server as SocketServer } from 'node:net'
import { closeStalled } from './stalled-readers.ts'
import { answerUnreadable } from './unreadable-request.ts'

/** In ms. */
const SWEEP_INTERVAL = 50

/** Tracks a server's connections, so that it can stop without cutting a request. */
export class Connections {
  /** The response to each connection's newest request; `null` before the first. */
  readonly #newest = new Map<Socket, ServerResponse | null>()
  #draining = false

  /** Call before the server listens. A connection closes after `stalledMs` without progress; default 30 s. */
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
   * Answers all requests, the last ones with `Connection: close` (RFC 9112 section 9.6), then resolves.
   * @param idleMs how long idle connections stay open, because a client may be sending
   * @param mostMs time until the remaining connections are cut
   */
  async drain(server: Server, { idleMs, mostMs }: { idleMs: number; mostMs: number }): Promise<void> {
    this.#draining = true
    for (const response of this.#newest.values()) if (response !== null) markLast(response)
    const sweepAt = performance.now() + idleMs
    // After pending input is read: a connection with an unread request is not idle.
    const sweep = () => setImmediate(() => performance.now() >= sweepAt && this.#closeIdle(server))
    const sweeping = setInterval(sweep, SWEEP_INTERVAL)
    const cut = setTimeout(() => server.closeAllConnections(), mostMs)
    sweep()
    await stopListening(server)
    clearInterval(sweeping)
    clearTimeout(cut)
  }

  /** Whether a problem can be written without breaking a response in progress. */
  #isSilent(socket: Socket): boolean {
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
function markLast(response: ServerResponse, before?: ServerResponse | null): void {
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
