/** What happened in one minute. As JSON it can be saved and summed. */
export type Minute = {
  /** Minutes since the Unix epoch, on the clock as it was when the process started. */
  at: number
  requests: number
  errors: number
  /** Answers from a cache, among `lookups`. */
  hits: number
  lookups: number
  /** Requests by the step of their latency (see `latencyStep`), up to the highest that has any. */
  latencies: number[]
}

export const KEPT_MINUTES = 60
const MINUTE_MS = 60_000
/** Steps per doubling: a percentile is at most 19 % too high. */
const STEPS = 4
/** 65 s. Longer latencies count as this one. */
export const MAX_STEP = 64

/** The counts of the last hour. */
export class MinuteCounts {
  #minutes: Minute[] = []

  /** @param now of `Clock.monotonic` */
  addRequest(now: number, ms: number, isError: boolean): void {
    const minute = this.#current(now)
    const step = latencyStep(ms)
    minute.requests++
    if (isError) minute.errors++
    addAt(minute.latencies, step, 1)
  }

  addLookup(now: number, isHit: boolean): void {
    const minute = this.#current(now)
    minute.lookups++
    if (isHit) minute.hits++
  }

  /** Oldest first, without minutes in which nothing happened. */
  read(now: number): readonly Minute[] {
    const last = minuteOf(now)
    return this.#minutes.filter(({ at }) => at > last - KEPT_MINUTES)
  }

  #current(now: number): Minute {
    const at = minuteOf(now)
    const newest = this.#minutes.at(-1)
    if (newest?.at === at) return newest
    const minute = emptyMinute(at)
    this.#minutes = [...this.read(now), minute]
    return minute
  }
}

export const minuteOf = (now: number): number => Math.floor(now / MINUTE_MS)

const emptyMinute = (at: number): Minute => ({
  at,
  requests: 0,
  errors: 0,
  hits: 0,
  lookups: 0,
  latencies: [],
})

const latencyStep = (ms: number): number =>
  ms <= 1 ? 0 : Math.min(MAX_STEP, Math.ceil(STEPS * Math.log2(ms)))

/** One minute for each `at`, oldest first. */
export function sumMinutes(minutes: readonly Minute[]): Minute[] {
  const byTime = Map.groupBy(minutes, ({ at }) => at)
  return [...byTime].sort(([one], [other]) => one - other).map(([at, parts]) => sumAs(at, parts))
}

export function totalOf(minutes: readonly Minute[]): Minute {
  return sumAs(minutes.at(-1)?.at ?? 0, minutes)
}

function sumAs(at: number, parts: readonly Minute[]): Minute {
  const sum = emptyMinute(at)
  for (const { requests, errors, hits, lookups, latencies } of parts) {
    sum.requests += requests
    sum.errors += errors
    sum.hits += hits
    sum.lookups += lookups
    for (let step = 0; step < latencies.length; step++) addAt(sum.latencies, step, latencies[step]!)
  }
  return sum
}

function addAt(counts: number[], index: number, count: number): void {
  while (counts.length <= index) counts.push(0)
  counts[index]! += count
}

/** The latency that this share of the requests did not exceed, in ms, rounded up; `null` without requests. */
export function percentile({ requests, latencies }: Minute, share: number): number | null {
  if (requests === 0) return null
  let left = Math.ceil(requests * share)
  let step = 0
  while (step < latencies.length - 1 && left > latencies[step]!) {
    left -= latencies[step]!
    step++
  }
  return Math.ceil(2 ** (step / STEPS))
}
