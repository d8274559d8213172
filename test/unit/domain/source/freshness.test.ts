import test from 'ava'
import fc from 'fast-check'
import {
  type Directives,
  FRESHNESS_JITTER,
  joinDirectives,
  lifetimeOf,
  NO_DIRECTIVES,
  phaseAt,
} from '../../../../src/domain/source/freshness.ts'

const POLICY = { freshSeconds: 15, staleWhileRevalidateSeconds: 60, staleIfErrorSeconds: 900 }
const at = (now: number, random = 0.5) => ({ now, random })

const directives = fc.record({
  mayStore: fc.boolean(),
  maxAgeSeconds: fc.option(fc.nat(100)),
  mayServeStale: fc.boolean(),
  ageSeconds: fc.nat(100),
})

test('freshness: without directives of the upstream the policy decides', (t) => {
  t.deepEqual(lifetimeOf(POLICY, NO_DIRECTIVES, at(1_000_000)), {
    staleAt: 1_015_000,
    revalidateUntil: 1_075_000,
    deleteAt: 1_915_000,
  })
})

test('freshness: directives shorten a lifetime and never lengthen it', (t) => {
  const unit = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(directives, unit, fc.nat(10 ** 9), (directives, random, now) => {
      const alone = lifetimeOf(POLICY, NO_DIRECTIVES, { now, random })!
      const lifetime = lifetimeOf(POLICY, directives, { now, random })
      if (lifetime === null) return
      t.true(lifetime.staleAt <= alone.staleAt && lifetime.deleteAt <= alone.deleteAt)
      t.true(directives.mayStore)
      t.true(
        directives.maxAgeSeconds === null ||
          lifetime.staleAt <= Math.max(now, now + (directives.maxAgeSeconds - directives.ageSeconds) * 1000),
      )
      t.true(now <= lifetime.staleAt)
      t.true(lifetime.staleAt <= lifetime.revalidateUntil && lifetime.revalidateUntil <= lifetime.deleteAt)
      t.true(directives.mayServeStale || lifetime.deleteAt === lifetime.staleAt)
    }),
  )
})

test('freshness: the fresh time varies by a tenth', (t) => {
  const staleAt = (random: number) => lifetimeOf(POLICY, NO_DIRECTIVES, at(0, random))?.staleAt
  t.is(staleAt(0), 15_000 * (1 - FRESHNESS_JITTER))
  t.is(staleAt(1), 15_000 * (1 + FRESHNESS_JITTER))
})

test('freshness: max-age=0 is fetched every time and served only if fetching fails', (t) => {
  const lifetime = lifetimeOf(POLICY, { ...NO_DIRECTIVES, maxAgeSeconds: 0 }, at(0))!
  t.is(phaseAt(lifetime, 0), 'if_error')
  t.is(phaseAt(lifetime, 899_999), 'if_error')
  t.is(phaseAt(lifetime, 900_000), 'expired')
})

test('freshness: an answer that may not be stored has no lifetime', (t) => {
  t.is(lifetimeOf(POLICY, { ...NO_DIRECTIVES, mayStore: false }, at(0)), null)
  t.is(lifetimeOf(POLICY, { ...NO_DIRECTIVES, maxAgeSeconds: 0, mayServeStale: false }, at(0)), null)
  const never = { freshSeconds: 0, staleWhileRevalidateSeconds: 0, staleIfErrorSeconds: 0 }
  t.is(lifetimeOf(never, NO_DIRECTIVES, at(0)), null)
})

test('freshness: each phase begins at its time', (t) => {
  const lifetime = lifetimeOf(POLICY, NO_DIRECTIVES, at(0))!
  const phases = [0, 14_999, 15_000, 74_999, 75_000, 914_999, 915_000].map((now) => phaseAt(lifetime, now))
  t.deepEqual(phases, ['fresh', 'fresh', 'revalidate', 'revalidate', 'if_error', 'if_error', 'expired'])
})

test('freshness: of several responses the stricter directives apply', (t) => {
  const one: Directives = { mayStore: true, maxAgeSeconds: null, mayServeStale: false, ageSeconds: 3 }
  const other: Directives = { mayStore: false, maxAgeSeconds: 5, mayServeStale: true, ageSeconds: 7 }
  const strictest = { mayStore: false, maxAgeSeconds: 5, mayServeStale: false, ageSeconds: 7 }
  t.deepEqual(joinDirectives(one, other), strictest)
  t.deepEqual(joinDirectives(other, one), strictest)
  t.is(joinDirectives(one, { ...one, maxAgeSeconds: 9 }).maxAgeSeconds, 9)
  t.is(joinDirectives(one, NO_DIRECTIVES), one)
})
