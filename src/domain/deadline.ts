import { MAX_TIMER_MS } from './clock.ts'

/**
 * Runs `work` with a signal that aborts when the caller's does, or `ms` after the start with the reason that `late`
 * makes. Heeding the signal is left to the work: see `raceAbort`.
 */
export async function withDeadline<T>(
  { ms, late, caller }: { ms: number; late: () => Error; caller: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController()
  const abort = (): void => deadline.abort(caller.reason)
  if (caller.aborted) abort()
  // Cheaper than AbortSignal.any by far, which counts where every request has one.
  caller.addEventListener('abort', abort)
  const timer = setTimeout(() => deadline.abort(late()), Math.min(ms, MAX_TIMER_MS))
  try {
    return await work(deadline.signal)
  } finally {
    clearTimeout(timer)
    caller.removeEventListener('abort', abort)
  }
}

/**
 * The outcome of `work`, unless `signal` aborts first: then a rejection with its reason, at once, whether or not the
 * work heeds the signal itself.
 */
export function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return race(work, signal, (reject) => reject(signal.reason))
}

/** The same, but the work has one more turn of the event loop after the abort, to fall back on something older. */
export function raceAbortAfterTick<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return race(work, signal, (reject) => setImmediate(() => reject(signal.reason)))
}

function race<T>(
  work: Promise<T>,
  signal: AbortSignal,
  giveUp: (reject: (reason: unknown) => void) => unknown,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): unknown => giveUp(reject)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
