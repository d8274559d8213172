import test from 'ava'
import fc from 'fast-check'
import { raceAbort, raceAbortAfterTick, systemClock, withDeadline } from '../../../src/domain/clock.ts'
import { KEPT_MINUTES, MinuteCounts, percentile, sumMinutes, totalOf } from '../../../src/domain/minutes.ts'
import { formatTimestamp, parseTimestamp } from '../../../src/domain/timestamp.ts'

const BEYOND_A_TIMER = 2 ** 31

test('clock: a wait of more than 24.8 days does not end at once and raises no warning', async (t) => {
  const ended: string[] = []
  const warnings: Error[] = []
  const note = (warning: Error) => warnings.push(warning)
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  t.teardown(systemClock.after(BEYOND_A_TIMER, () => ended.push('long')))
  await new Promise((resolve) => setTimeout(resolve, 5))
  t.deepEqual(ended, [])
  t.deepEqual(warnings, [])
})

const never = new Promise<never>(() => {})

test('deadline: the signal aborts with the timeout error, or earlier with the reason of the caller', async (t) => {
  const late = new Error('late')
  const caller = new AbortController()
  const wait = (ms: number) =>
    withDeadline({ ms, timeoutError: () => late, caller: caller.signal }, (signal) =>
      raceAbort(never, signal),
    )
  t.is(await t.throwsAsync(wait(5)), late)
  const waiting = wait(2 ** 40)
  const gone = new Error('gone')
  caller.abort(gone)
  t.is(await t.throwsAsync(waiting), gone)
  t.is(await t.throwsAsync(wait(5)), gone)
})

test('deadline: work that settles one turn after the abort counts with raceAbortAfterTick', async (t) => {
  const stop = new AbortController()
  const work = Promise.withResolvers<number>()
  const race = raceAbortAfterTick(work.promise, stop.signal)
  stop.signal.addEventListener('abort', () => work.resolve(7))
  stop.abort(new Error('late'))
  t.is(await race, 7)
  await t.throwsAsync(raceAbortAfterTick(never, stop.signal), { message: 'late' })
})

test('deadline: work that fails after the abort is not an unhandled rejection', async (t) => {
  const work = Promise.withResolvers<never>()
  const gone = new Error('gone')
  t.is(await t.throwsAsync(raceAbort(work.promise, AbortSignal.abort(gone))), gone)
  work.reject(new Error('too late'))
  await t.throwsAsync(work.promise)
})

const YEAR_2200 = Date.UTC(2200, 0)
const instant = fc.tuple(fc.nat(YEAR_2200), fc.nat(999))

test('timestamp: formatting agrees with Date to the millisecond, in any order of times', (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(instant, fc.nat(120_000))), (times) => {
      for (const [[millis, micros], later] of times) {
        for (const at of [millis, millis + later, millis]) {
          const text = new Date(at).toISOString().slice(0, 23) + String(micros).padStart(3, '0')
          t.is(formatTimestamp(at * 1000 + micros), text)
          t.is(parseTimestamp(text), at * 1000 + micros)
        }
      }
    }),
  )
})

const START = Date.UTC(2026, 10, 20, 12)
const MINUTE = 60_000

test('timestamp: years below 100 are not years of the 20th century', (t) => {
  for (const text of ['0050-03-01T00:00:00', '0050-03-01T00:00:00.000000'])
    t.is(parseTimestamp(text), Date.parse('0050-03-01T00:00:00Z') * 1000)
})

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
