import test from 'ava'
import { KEPT_MINUTES, MinuteCounts, percentile, sumMinutes, totalOf } from '../../src/domain/minutes.ts'

const START = Date.UTC(2026, 10, 20, 12)
const MINUTE = 60_000

test('minutes: counts go to their minute, and the last sixty are kept', (t) => {
  const counts = new MinuteCounts()
  for (let minute = 0; minute < 3 * KEPT_MINUTES; minute++) {
    counts.addRequest(START + minute * MINUTE, 10, minute % 2 === 0)
    counts.addLookup(START + minute * MINUTE + 59_999, true)
  }
  const now = START + (3 * KEPT_MINUTES - 1) * MINUTE
  const kept = counts.read(now)
  t.is(kept.length, KEPT_MINUTES)
  t.true(kept.every(({ requests, hits, lookups }) => requests === 1 && hits === 1 && lookups === 1))
  t.like(totalOf(kept), { requests: 60, errors: 30 })
  t.is(counts.read(now + 30 * MINUTE).length, 30, 'a quiet half hour')
})

test('minutes: after the clock was set back, later minutes are dropped', (t) => {
  const counts = new MinuteCounts()
  counts.addRequest(START + 5 * MINUTE, 1, false)
  counts.addRequest(START, 1, true)
  t.like(totalOf(counts.read(START)), { requests: 1, errors: 1 })
  t.is(counts.read(START + 5 * MINUTE).length, 1)
})

test('minutes: percentiles of a sum are those of all requests, rounded up', (t) => {
  const [one, other] = [new MinuteCounts(), new MinuteCounts()]
  for (let n = 0; n < 90; n++) one.addRequest(START, 4, false)
  for (let n = 0; n < 10; n++) other.addRequest(START, 1000, false)
  other.addRequest(START + MINUTE, 1e9, false)
  const minutes = sumMinutes([...one.read(START + MINUTE), ...other.read(START + MINUTE)])
  t.deepEqual(
    minutes.map(({ requests }) => requests),
    [100, 1],
  )
  t.is(percentile(minutes[0]!, 0.5), 4)
  const p95 = percentile(minutes[0]!, 0.95)!
  t.true(p95 >= 1000 && p95 <= 1190, String(p95))
  t.is(percentile(minutes[1]!, 0.5), 65_536, 'the longest that is distinguished')
  t.is(percentile(totalOf([]), 0.5), null)
})
