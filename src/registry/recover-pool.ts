import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { EntrepotError } from '../errors.ts'
import type { RecoverRequest } from './recover-worker.ts'
import type { RecoverAddress } from './signature.ts'
import { WorkerPool, type WorkerPoolOptions } from './worker-pool.ts'

/** Signatures that may wait for a thread; about a second's work each thread. */
export const MAX_WAITING = 1000
/** A thread that has had nothing to do for this long ends. */
const IDLE_MS = 60_000

/** One core is left to the event loop, so that reads stay quick while signatures are checked. */
const recoverThreads = (): number => Math.max(1, availableParallelism() - 1)

/**
 * Signature recovery on worker threads, started when there is work.
 * Rejects with `EntrepotError` `unavailable` when more wait than the threads can soon take, or none can be started.
 * @param onFault called for each thread that could not be started or broke off
 */
export const createRecoverPool = ({
  threads = recoverThreads(),
  onFault,
}: Partial<Pick<WorkerPoolOptions, 'threads' | 'onFault'>> = {}): {
  recover: RecoverAddress
  close: () => Promise<void>
} => {
  const pool = new WorkerPool<RecoverRequest, string | null>({
    // Beside this file, whether that is a source or built.
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
  })
