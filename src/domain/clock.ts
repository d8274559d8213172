/** Time as the gateway sees it. A test's own stands still until it is told to go on. */
export type Clock = {
  /** Milliseconds since the Unix epoch. */
  now: () => number
  /** Calls `act` once, `ms` from now, unless what it returns is called before. Keeps no process alive. */
  after: (ms: number, act: () => void) => () => void
}

export const systemClock: Clock = {
  now: Date.now,
  after: (ms, act) => {
    const timer = setTimeout(act, ms).unref()
    return () => clearTimeout(timer)
  },
}
