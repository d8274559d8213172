/** Time as the gateway sees it. The clock of a test stands still until the test advances it. */
export type Clock = {
  /** Milliseconds since the Unix epoch. */
  now: () => number
  /**
   * Calls `act` once, `ms` from now, unless what it returns is called before. Keeps no process alive. A wait longer
   * than `MAX_TIMER_MS` ends after `MAX_TIMER_MS`.
   */
  after: (ms: number, act: () => void) => () => void
}

/** 24.8 days. Node runs a longer timer at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: Date.now,
  after: (ms, act) => {
    const timer = setTimeout(act, Math.min(ms, MAX_TIMER_MS)).unref()
    return () => clearTimeout(timer)
  },
}
