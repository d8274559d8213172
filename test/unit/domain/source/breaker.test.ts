import test from 'ava'
import fc from 'fast-check'
import {
  afterEvent,
  type Breaker,
  type BreakerEvent,
  CLOSED,
  MAX_FAILURES_IN_A_ROW,
  MAX_OPEN_MS,
  MIN_CALLS,
  OPEN_JITTER,
  OPEN_MS,
} from '../../../../src/domain/source/breaker.ts'

const START = 1_000_000
const run = (events: readonly BreakerEvent[], breaker: Breaker = CLOSED, now = START): Breaker =>
  events.reduce((so, event) => afterEvent(so, event, { now, random: 0.5 }), breaker)
const times = (n: number, ...events: BreakerEvent[]): BreakerEvent[] =>
  Array.from({ length: n }, () => events).flat()
const OPEN = run(times(MAX_FAILURES_IN_A_ROW, 'failed'))

test('breaker: five failures in a row open it for ten seconds, four do not', (t) => {
  t.is(run(times(4, 'failed')).state, 'closed')
  t.like(OPEN, { state: 'open', failuresInARow: 5, retryAt: START + OPEN_MS })
  t.is(run([...times(4, 'failed'), 'passed', ...times(4, 'failed')]).state, 'closed')
})

test('breaker: half of ten calls failing within 30 s opens it, half of nine does not', (t) => {
  const mixed = (n: number): BreakerEvent[] => times(n, 'passed', 'failed')
  t.is(run(mixed(4)).state, 'closed')
  t.is(run(mixed(MIN_CALLS / 2)).state, 'open')
  const old = run(mixed(4), CLOSED, START)
  t.is(run(mixed(4), old, START + 29_000).state, 'open')
  t.is(run(mixed(4), old, START + 30_000).state, 'closed')
})

test('breaker: less than half of the calls failing does not open it', (t) => {
  t.is(run(times(20, 'passed', 'failed', 'passed')).state, 'closed')
})

test('breaker: each failed probe doubles the open time up to two minutes, closing resets it', (t) => {
  const waits: number[] = []
  let breaker = OPEN
  for (let n = 0; n < 6; n++) {
    waits.push((breaker.retryAt ?? 0) - START)
    breaker = run(['probe', 'probe_failed'], breaker)
  }
  t.deepEqual(waits, [10_000, 20_000, 40_000, 80_000, 120_000, 120_000])
  const closed = run(['probe', 'probe_passed', 'probe_passed'], breaker)
  t.is(closed, CLOSED)
  t.is(run(times(5, 'failed'), closed).retryAt, START + OPEN_MS)
})

test('breaker: two probes that pass in a row close it, one does not', (t) => {
  t.is(run(['probe', 'probe_passed'], OPEN).state, 'half_open')
  t.is(run(['probe', 'probe_passed', 'probe_failed'], OPEN).state, 'open')
  const again = run(['probe', 'probe_passed', 'probe_failed', 'probe', 'probe_passed'], OPEN)
  t.is(again.state, 'half_open')
  t.is(run(['probe_passed'], again).state, 'closed')
})

const event = fc.constantFrom<BreakerEvent>(
  'passed',
  'failed',
  'confirmed',
  'probe',
  'probe_passed',
  'probe_failed',
)
const step = fc.record({ event, wait: fc.nat(40_000), random: fc.double({ min: 0, max: 1, noNaN: true }) })

test('breaker: only probes end the open state, and open time and memory are bounded', (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      let breaker = CLOSED
      let now = START
      for (const { event, wait, random } of steps) {
        now += wait
        const before = breaker
        breaker = afterEvent(before, event, { now, random })
        const isOwn = event.startsWith('probe')
        if (before.state !== 'closed' && !isOwn) t.is(breaker, before)
        if (before.state === 'open' && breaker.state !== 'open') t.is(event, 'probe')
        if (before.state === 'half_open' && breaker.state === 'closed') t.is(before.probesPassed, 1)
        if (before.state === 'closed' && isOwn) t.is(breaker, before)
        t.is(breaker.retryAt !== null, breaker.state === 'open')
        if (breaker.state === 'open' && breaker !== before) {
          const ms = (breaker.retryAt ?? 0) - now
          t.true(ms >= OPEN_MS * (1 - OPEN_JITTER) && ms <= MAX_OPEN_MS * (1 + OPEN_JITTER))
        }
        t.true(breaker.recent.length <= 30)
      }
    }),
  )
})

test('breaker: passing calls never open it, failing calls alone always do', (t) => {
  fc.assert(
    fc.property(fc.array(fc.nat(5000), { minLength: 5, maxLength: 50 }), (waits) => {
      const play = (event: BreakerEvent) => {
        let now = START
        return waits.reduce((breaker, wait) => {
          now += wait
          return afterEvent(breaker, event, { now, random: 0 })
        }, CLOSED)
      }
      t.is(play('passed').state, 'closed')
      t.is(play('failed').state, 'open')
    }),
  )
})
