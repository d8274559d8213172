import type { Clock } from '../../src/domain/clock.ts'

/** A clock that moves only when the test advances it; by default from a full minute of 2026. */
export type ManualClock = Clock & {
  /** Advances by `ms` and runs the due timers in order. */
  advance: (ms: number) => void
  /** Sets the time of day forward or, if negative, back. Timers and `monotonic` do not notice. */
  set: (ms: number) => void
  /** Pending timers. */
  pending: () => number
}

export function manualClock(start = Date.UTC(2026, 10, 20, 12)): ManualClock {
  let now = start
  let offset = 0
  const due = new Set<{ at: number; act: () => void }>()
  const next = (until: number) => [...due].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
  return {
    now: () => now + offset,
    monotonic: () => now,
    after: (ms, act) => {
      const task = { at: now + ms, act }
      due.add(task)
      return () => due.delete(task)
    },
    advance: (ms) => {
      const until = now + ms
      for (let task = next(until); task !== undefined; task = next(until)) {
        due.delete(task)
        now = task.at
        task.act()
      }
      now = until
    },
    set: (ms) => {
      offset += ms
    },
    pending: () => due.size,
  }
}
