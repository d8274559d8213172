import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** How long a reader may take nothing of a response before the connection closes. */
const STALLED_MS = 30_000

/** A connection closes after this many equal looks in a row. */
const LOOKS = 3

type Progress = { written: number; unsent: number; looks: number }

/**
 * Closes connections whose readers take nothing of what was written for them, while the server is open.
 * Bytes that the kernel takes count, and nothing that the reader sends.
 * @param sockets those that are open
 */
export function closeStalled(server: Server, sockets: () => Iterable<Socket>, stalledMs = STALLED_MS): void {
  let before = new Map<Socket, Progress>()
  const look = (): void => {
    const now = new Map<Socket, Progress>()
    for (const socket of sockets()) {
      const progress = { written: socket.bytesWritten, unsent: unsentBytes(socket), looks: 0 }
      if (progress.unsent === 0) continue
      const last = before.get(socket)
      if (last?.written === progress.written && last.unsent === progress.unsent)
        progress.looks = last.looks + 1
      if (progress.looks < LOOKS) now.set(socket, progress)
      else socket.destroy()
    }
    before = now
  }
  const looking = setInterval(look, stalledMs / LOOKS).unref()
  server.once('close', () => clearInterval(looking))
}

/** Node's documented counts move once a write has ended; only its handle says how much of one the kernel has taken. */
function unsentBytes(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}
