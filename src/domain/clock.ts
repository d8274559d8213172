import { MAX_TIMER_MS } from './max-timer.ts'

export type Clock = {
  /** Milliseconds since the Unix epoch, for timestamps. The machine's clock may be set back or forward. */
  now: () => number
  /** Milliseconds that never go back, for ages and deadlines. They begin with the time when the process started. */
  monotonic: () => number
  /** Waits for `MAX_TIMER_MS` at most, and keeps no process alive. Returns the cancellation. */
  after: (ms: number, act: () => void) => () => void
}

export const systemClock: Clock = {
  now: Date.now,
  monotonic: () => performance.timeOrigin + performance.now(),
  after: (ms, act) => {
    const timer = setTimeout(act, Math.min(ms, MAX_TIMER_MS)).unref()
    return () => clearTimeout(timer)
  },
}

/** Acts after each `ms`. Returns the cancellation. */
export function repeat(clock: Pick<Clock, 'after'>, ms: number, act: () => void): () => void {
  let cancel = (): void => {}
  const next = (): void => {
    cancel = clock.after(ms, () => {
      act()
      next()
    })
  }
  next()
  return () => cancel()
}

/** The signal aborts with the caller's, or after `ms` with `timeoutError()`. `work` must heed it: see `raceAbort`. */
export async function withDeadline<T>(
  { ms, timeoutError, caller }: { ms: number; timeoutError: () => Error; caller: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController()
  const abort = (): void => deadline.abort(caller.reason)
  if (caller.aborted) abort()
  // Far cheaper than AbortSignal.any, and every request passes here.
  caller.addEventListener('abort', abort)
  const timer = setTimeout(() => deadline.abort(timeoutError()), Math.min(ms, MAX_TIMER_MS))
  try {
    return await work(deadline.signal)
  } finally {
    clearTimeout(timer)
    caller.removeEventListener('abort', abort)
  }
}

/** Settles as `work` does, or rejects with the signal's reason as soon as it aborts. */
export function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return race(work, signal, (reject) => reject(signal.reason))
}

/** As `raceAbort`, but `work` has one more turn of the event loop, to fall back on older data. */
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
