export type Clock = {
  /** Milliseconds since the Unix epoch. */
  now: () => number
  /** Waits for `MAX_TIMER_MS` at most, and keeps no process alive. Returns the cancellation. */
  after: (ms: number, act: () => void) => () => void
}

/** 24.8 days. Node fires a longer timer at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: Date.now,
  after: (ms, act) => {
    const timer = setTimeout(act, Math.min(ms, MAX_TIMER_MS)).unref()
    return () => clearTimeout(timer)
  },
}
