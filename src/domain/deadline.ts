import { MAX_TIMER_MS } from './clock.ts'

/**
 * Runs `work` with a signal that aborts when the caller's does, or `ms` after the start with the reason `late`.
 * Heeding the signal is left to the work: see `raceAbort`.
 */
export const withDeadline = async <T>(
  { ms, late, caller }: { ms: number; late: Error; caller: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(late), Math.min(ms, MAX_TIMER_MS))
  try {
    return await work(AbortSignal.any([caller, deadline.signal]))
  } finally {
    clearTimeout(timer)
  }
}

/**
 * The outcome of `work`, unless `signal` aborts first: then a rejection with its reason, at once, whether or not the
 * work heeds the signal itself. What the work does after that is heard by nobody.
 */
export const raceAbort = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason)
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
  })

/**
 * Like `raceAbort`, but leaves the work one turn of the event loop after the abort for a last word: who has
 * something older at hand can still show it.
 */
export const raceAbortAfterTick = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const giveUp = (): unknown => setImmediate(() => reject(signal.reason))
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
  })
