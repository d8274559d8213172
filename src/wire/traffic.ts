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
  const each = <T>(read: (minute: Minute | undefined) => T): T[] =>
    Array.from({ length: KEPT_MINUTES }, (_, n) => read(byTime.get(first + n)))
  const countOf = (name: 'requests' | 'errors' | 'hits' | 'lookups') => each((minute) => minute?.[name] ?? 0)
  const latencyOf = (share: number) => each((minute) => (minute ? percentile(minute, share) : null))
  const { requests, errors, hits, lookups, ...rest } = totalOf(minutes)
  const total = { requests, errors, hits, lookups, ...rest }
  return {
    from: new Date(first * 60_000).toISOString(),
    total: {
      requests,
      errors,
      hits,
      lookups,
      p50_ms: percentile(total, 0.5),
      p95_ms: percentile(total, 0.95),
    },
    minutes: {
      requests: countOf('requests'),
      errors: countOf('errors'),
      hits: countOf('hits'),
      lookups: countOf('lookups'),
      p50_ms: latencyOf(0.5),
      p95_ms: latencyOf(0.95),
    },
  }
}
