import type { Server } from 'node:http'
import type { Socket } from 'node:net'

const STALLED_MS = 30_000

const LOOKS = 3

type Progress = { written: number; unsent: number; looks: number }

/** Closes connections whose reader takes nothing of a response. Bytes from the reader are not progress. */
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

/** Node's documented counts change only when a write ends; its handle follows the kernel. */
function unsentBytes(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}
