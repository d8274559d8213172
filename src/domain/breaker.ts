/**
 * A circuit breaker as a value: whether an upstream may be asked, by what became of the questions so far
 * (`contract.md` 3.1, `circuit_open`). It opens after five failures in a row, or when half of ten or more calls within
 * 30 s failed; for 10 s, doubled each time it finds no recovery, up to 120 s. Then probes are sent in the background:
 * two that pass in a row close it, one that fails opens it again.
 */
export type Breaker = {
  state: 'closed' | 'open' | 'half_open'
  failuresInARow: number
  /** What came back within the last 30 s, by second. */
  recent: readonly Second[]
  /** How often it has opened since it was last closed. */
  opened: number
  /** When an open one is to be probed, in ms since the Unix epoch; `null` where it is not open. */
  retryAt: number | null
  probesPassed: number
}

type Second = { second: number; calls: number; failures: number }

/** What happened. `passed` and `failed` are calls of readers; the others are about probes. */
export type BreakerEvent = 'passed' | 'failed' | 'probe' | 'probe_passed' | 'probe_failed'

export const MAX_FAILURES_IN_A_ROW = 5
export const WINDOW_SECONDS = 30
/** Fewer calls within the window say nothing. */
export const MIN_CALLS = 10
export const FAILING_SHARE = 0.5
export const OPEN_MS = 10_000
export const MAX_OPEN_MS = 120_000
/** The time for which it is open varies by this part of itself, so that replicas do not probe together. */
export const OPEN_JITTER = 0.1
export const PROBES_TO_CLOSE = 2

export const CLOSED: Breaker = {
  state: 'closed',
  failuresInARow: 0,
  recent: [],
  opened: 0,
  retryAt: null,
  probesPassed: 0,
}

/**
 * The breaker after an event. What does not fit its state, such as the answer to a call that was made before it
 * opened, changes nothing.
 *
 * @param random from 0 to 1
 */
export const afterEvent = (
  breaker: Breaker,
  event: BreakerEvent,
  { now, random }: { now: number; random: number },
): Breaker => {
  switch (event) {
    case 'passed':
      return breaker.state === 'closed'
        ? { ...breaker, failuresInARow: 0, recent: counted(breaker.recent, now, 0) }
        : breaker
    case 'failed':
      return breaker.state === 'closed' ? afterFailure(breaker, now, random) : breaker
    case 'probe':
      return breaker.state === 'open' ? { ...breaker, state: 'half_open', retryAt: null } : breaker
    case 'probe_passed':
      return breaker.state === 'half_open' ? afterPass(breaker) : breaker
    case 'probe_failed':
      return breaker.state === 'half_open' ? opened(breaker, now, random) : breaker
  }
}

const afterFailure = (breaker: Breaker, now: number, random: number): Breaker => {
  const recent = counted(breaker.recent, now, 1)
  const next = { ...breaker, failuresInARow: breaker.failuresInARow + 1, recent }
  const calls = recent.reduce((sum, second) => sum + second.calls, 0)
  const failures = recent.reduce((sum, second) => sum + second.failures, 0)
  const isFailing = calls >= MIN_CALLS && failures >= calls * FAILING_SHARE
  return isFailing || next.failuresInARow >= MAX_FAILURES_IN_A_ROW ? opened(next, now, random) : next
}

const afterPass = (breaker: Breaker): Breaker => {
  const probesPassed = breaker.probesPassed + 1
  return probesPassed >= PROBES_TO_CLOSE ? CLOSED : { ...breaker, probesPassed }
}

const opened = (breaker: Breaker, now: number, random: number): Breaker => {
  const ms = Math.min(OPEN_MS * 2 ** breaker.opened, MAX_OPEN_MS)
  const retryAt = now + ms * (1 + OPEN_JITTER * (2 * random - 1))
  return { ...breaker, state: 'open', recent: [], opened: breaker.opened + 1, retryAt, probesPassed: 0 }
}

const counted = (recent: readonly Second[], now: number, failures: number): readonly Second[] => {
  const second = Math.floor(now / 1000)
  const kept = recent.filter((past) => past.second > second - WINDOW_SECONDS && past.second !== second)
  const same = recent.find((past) => past.second === second)
  return [...kept, { second, calls: (same?.calls ?? 0) + 1, failures: (same?.failures ?? 0) + failures }]
}

/** Tells other replicas of an open breaker, and asks whether one of them has told. What fails tells nothing. */
export type Notice = {
  /** Until when the upstream is left alone, in ms since the Unix epoch; `null` where nobody says so. */
  read: () => Promise<number | null>
  /** `null` takes it back. */
  write: (until: number | null) => Promise<void>
}
