import test from 'ava'
import fc from 'fast-check'
import {
  afterEvent,
  type Breaker,
  type BreakerEvent,
  CLOSED,
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

test('breaker: half of ten calls failing within 30 s opens it, half of nine does not', (t) => {
  const mixed = (n: number): BreakerEvent[] => times(n, 'passed', 'failed')
  t.is(run(mixed(4)).state, 'closed')
  t.is(run(mixed(MIN_CALLS / 2)).state, 'open')
  const old = run(mixed(4), CLOSED, START)
  t.is(run(mixed(4), old, START + 29_000).state, 'open')
  t.is(run(mixed(4), old, START + 30_000).state, 'closed')
  t.is(run(times(20, 'passed', 'failed', 'passed')).state, 'closed', 'less than half')
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
