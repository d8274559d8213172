/** Opens after five failures in a row, or if half of ten or more calls in 30 s fail. Two probes close it. */
export type Breaker = {
  state: 'closed' | 'open' | 'half_open'
  failuresInARow: number
  recent: readonly Second[]
  /** Times since it was last closed. */
  openCount: number
  /** When to probe, in ms of `Clock.monotonic`; `null` unless open. */
  retryAt: number | null
  probesPassed: number
}

type Second = { second: number; calls: number; failures: number }

/**
 * `passed` and `failed` are readers' calls; the others are probes. `confirmed`: one failed while another replica's breaker is
 * open.
 */
export type BreakerEvent = 'passed' | 'failed' | 'confirmed' | 'probe' | 'probe_passed' | 'probe_failed'

export const MAX_FAILURES_IN_A_ROW = 5
const WINDOW_SECONDS = 30
export const MIN_CALLS = 10
const FAILING_SHARE = 0.5
export const OPEN_MS = 10_000
export const MAX_OPEN_MS = 120_000
/** Share by which the open time varies, so that replicas do not probe together. */
export const OPEN_JITTER = 0.1
const PROBES_TO_CLOSE = 2

export const CLOSED: Breaker = {
  state: 'closed',
  failuresInARow: 0,
  recent: [],
  openCount: 0,
  retryAt: null,
  probesPassed: 0,
}

/** Ignores events that do not fit its state, such as late answers. `random`: 0 to 1. */
export function afterEvent(
  breaker: Breaker,
  event: BreakerEvent,
  { now, random }: { now: number; random: number },
): Breaker {
  switch (event) {
    case 'passed':
      return breaker.state === 'closed'
        ? { ...breaker, failuresInARow: 0, recent: addCall(breaker.recent, now, 0) }
        : breaker
    case 'failed':
      return breaker.state === 'closed' ? afterFailure(breaker, now, random) : breaker
    case 'confirmed':
      return breaker.state === 'closed' ? open(breaker, now, random) : breaker
    case 'probe':
      return breaker.state === 'open' ? { ...breaker, state: 'half_open', retryAt: null } : breaker
    case 'probe_passed':
      return breaker.state === 'half_open' ? afterPass(breaker) : breaker
    case 'probe_failed':
      return breaker.state === 'half_open' ? open(breaker, now, random) : breaker
  }
}

function afterFailure(breaker: Breaker, now: number, random: number): Breaker {
  const recent = addCall(breaker.recent, now, 1)
  const next = { ...breaker, failuresInARow: breaker.failuresInARow + 1, recent }
  const calls = recent.reduce((sum, second) => sum + second.calls, 0)
  const failures = recent.reduce((sum, second) => sum + second.failures, 0)
  const isFailing = calls >= MIN_CALLS && failures >= calls * FAILING_SHARE
  return isFailing || next.failuresInARow >= MAX_FAILURES_IN_A_ROW ? open(next, now, random) : next
}

function afterPass(breaker: Breaker): Breaker {
  const probesPassed = breaker.probesPassed + 1
  return probesPassed >= PROBES_TO_CLOSE ? CLOSED : { ...breaker, probesPassed }
}

function open(breaker: Breaker, now: number, random: number): Breaker {
  const ms = Math.min(OPEN_MS * 2 ** breaker.openCount, MAX_OPEN_MS)
  const retryAt = now + ms * (1 + OPEN_JITTER * (2 * random - 1))
  return { ...breaker, state: 'open', recent: [], openCount: breaker.openCount + 1, retryAt, probesPassed: 0 }
}

function addCall(recent: readonly Second[], now: number, failures: number): readonly Second[] {
  const second = Math.floor(now / 1000)
  const last = recent.at(-1)
  if (last?.second === second)
    return [...recent.slice(0, -1), { second, calls: last.calls + 1, failures: last.failures + failures }]
  const window = recent.filter((past) => past.second > second - WINDOW_SECONDS)
  return [...window, { second, calls: 1, failures }]
}
