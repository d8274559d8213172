import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { EntrepotError } from '../../errors.ts'
import { WorkerPool, type WorkerPoolOptions } from '../worker-pool.ts'
import type { RecoverRequest } from './recover-worker.ts'
import type { RecoverAddress } from './verify-claim.ts'

/** About a second of work per thread. */
export const MAX_WAITING = 1000
const IDLE_MS = 60_000

/** Leaves one core to the event loop, so that reads stay fast. */
const recoverThreads = (): number => Math.max(1, availableParallelism() - 1)

/** Rejects with `EntrepotError` `unavailable` if the queue is full or no thread can be started. */
export function createRecoverPool({
  threads = recoverThreads(),
  onFault,
}: Partial<Pick<WorkerPoolOptions, 'threads' | 'onFault'>> = {}): {
  recover: RecoverAddress
  close: () => Promise<void>
} {
  const pool = new WorkerPool<RecoverRequest, string | null>({
    // Beside this file, as source or compiled.
    file: new URL(`./recover-worker${extname(import.meta.filename)}`, import.meta.url),
    threads,
    idleMs: IDLE_MS,
    onFault,
  })
  return {
    recover: (message, signature) => {
      if (pool.waiting >= MAX_WAITING) return Promise.reject(tooBusy())
      return pool.run({ message, signature })
    },
    close: () => pool.close(),
  }
}

const tooBusy = (): EntrepotError =>
  new EntrepotError('unavailable', 'Too many signatures are waiting to be checked; try again shortly', {
    headers: { 'Retry-After': '1' },
    limit: 'pending_signatures',
  })
