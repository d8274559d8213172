import { z } from 'zod'
import { KEPT_MINUTES, type Minute, minuteOf, percentile, totalOf } from '../domain/minutes.ts'
import { wireInstant } from './time.ts'

const count = z.int()
const latency = z
  .int()
  .nullable()
  .describe('Rounded up to the next of 4 steps per doubling; null: no requests')

/** Sixty values, oldest first; the last is the current minute. */
export const trafficSchema = z
  .object({
    from: wireInstant.describe('Start of the first of 60 minutes'),
    total: z.object({
      requests: count,
      errors: count,
      hits: count.describe('Answers from a cache'),
      lookups: count,
      p50_ms: latency,
      p95_ms: latency,
    }),
    minutes: z.object({
      requests: z.array(count),
      errors: z.array(count),
      hits: z.array(count),
      lookups: z.array(count),
      p50_ms: z.array(latency),
      p95_ms: z.array(latency),
    }),
  })
  .meta({ id: 'Traffic', description: 'Counts of the last 60 minutes' })

type Traffic = z.infer<typeof trafficSchema>

/** @param minutes one for each time at most */
export function toTraffic(minutes: readonly Minute[], now: number): Traffic {
  const first = minuteOf(now) - KEPT_MINUTES + 1
  const byTime = new Map(minutes.map((minute) => [minute.at, minute]))
  const hour = Array.from({ length: KEPT_MINUTES }, (_, n) => figuresOf(byTime.get(first + n) ?? totalOf([])))
  return {
    from: new Date(first * 60_000).toISOString(),
    total: figuresOf(totalOf(minutes)),
    minutes: {
      requests: hour.map(({ requests }) => requests),
      errors: hour.map(({ errors }) => errors),
      hits: hour.map(({ hits }) => hits),
      lookups: hour.map(({ lookups }) => lookups),
      p50_ms: hour.map(({ p50_ms }) => p50_ms),
      p95_ms: hour.map(({ p95_ms }) => p95_ms),
    },
  }
}

function figuresOf(minute: Minute): Traffic['total'] {
  const { requests, errors, hits, lookups } = minute
  const [p50_ms, p95_ms] = [percentile(minute, 0.5), percentile(minute, 0.95)]
  return { requests, errors, hits, lookups, p50_ms, p95_ms }
}
