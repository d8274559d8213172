import test from 'ava'
import fc from 'fast-check'
import {
  type Directives,
  FRESHNESS_JITTER,
  type Freshness,
  lifetimeOf,
  phaseAt,
  worstOf,
} from '../../src/domain/freshness.ts'

const POLICY = { freshSeconds: 15, staleWhileRevalidateSeconds: 60, staleIfErrorSeconds: 900 }
const SILENT: Directives = { mayStore: true, maxAgeSeconds: null, mayServeStale: true, ageSeconds: 0 }
const at = (now: number, random = 0.5) => ({ now, random })

const directives = fc.record({
  mayStore: fc.boolean(),
  maxAgeSeconds: fc.option(fc.nat(100)),
  mayServeStale: fc.boolean(),
  ageSeconds: fc.nat(100),
})

test('without a word of the upstream the policy decides', (t) => {
  t.deepEqual(lifetimeOf(POLICY, SILENT, at(1_000_000)), {
    fetchedAt: 1_000_000,
    staleAt: 1_015_000,
    waitAt: 1_075_000,
    deleteAt: 1_915_000,
  })
})

test('an upstream shortens a lifetime and never lengthens it', (t) => {
  const unit = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(directives, unit, fc.nat(10 ** 9), (said, random, now) => {
      const alone = lifetimeOf(POLICY, SILENT, { now, random })!
      const lifetime = lifetimeOf(POLICY, said, { now, random })
      if (lifetime === null) return
      t.true(lifetime.staleAt <= alone.staleAt && lifetime.deleteAt <= alone.deleteAt)
      t.true(said.mayStore)
      t.true(
        said.maxAgeSeconds === null ||
          lifetime.staleAt <= Math.max(now, now + (said.maxAgeSeconds - said.ageSeconds) * 1000),
      )
      t.true(lifetime.fetchedAt <= now && now <= lifetime.staleAt)
      t.true(lifetime.staleAt <= lifetime.waitAt && lifetime.waitAt <= lifetime.deleteAt)
      t.true(said.mayServeStale || lifetime.deleteAt === lifetime.staleAt)
    }),
  )
})

test('freshness varies by a tenth and no more', (t) => {
  const staleAt = (random: number) => lifetimeOf(POLICY, SILENT, at(0, random))?.staleAt
  t.is(staleAt(0), 15_000 * (1 - FRESHNESS_JITTER))
  t.is(staleAt(1), 15_000 * (1 + FRESHNESS_JITTER))
})

test('max-age=0 is asked every time and shown only in place of no answer', (t) => {
  const lifetime = lifetimeOf(POLICY, { ...SILENT, maxAgeSeconds: 0 }, at(0))!
  t.is(phaseAt(lifetime, 0), 'if_error')
  t.is(phaseAt(lifetime, 899_999), 'if_error')
  t.is(phaseAt(lifetime, 900_000), 'gone')
})

test('no-store, and nothing to be kept for, is no lifetime at all', (t) => {
  t.is(lifetimeOf(POLICY, { ...SILENT, mayStore: false }, at(0)), null)
  t.is(lifetimeOf(POLICY, { ...SILENT, maxAgeSeconds: 0, mayServeStale: false }, at(0)), null)
  const never = { freshSeconds: 0, staleWhileRevalidateSeconds: 0, staleIfErrorSeconds: 0 }
  t.is(lifetimeOf(never, SILENT, at(0)), null)
})

test('the phases follow each other at their very times', (t) => {
  const lifetime = lifetimeOf(POLICY, SILENT, at(0))!
  const phases = [0, 14_999, 15_000, 74_999, 75_000, 914_999, 915_000].map((now) => phaseAt(lifetime, now))
  t.deepEqual(phases, ['fresh', 'fresh', 'revalidate', 'revalidate', 'if_error', 'if_error', 'gone'])
})

test('what is put together is as old as its oldest part and as good as its worst', (t) => {
  const part = (outcome: Freshness['cache']['outcome'], ageSeconds: number): Freshness => ({
    ageSeconds,
    stale: outcome === 'stale',
    ...(outcome === 'stale' ? { reason: 'timeout' as const } : {}),
    cache: { outcome, ttlSeconds: 15 - ageSeconds },
    isCurrent: () => outcome !== 'stale',
  })
  t.is(worstOf([]), null)
  const { isCurrent, ...whole } = worstOf([part('hit', 3), part('stale', 40), part('miss', 0)])!
  t.deepEqual(whole, {
    ageSeconds: 40,
    stale: true,
    reason: 'timeout',
    cache: { outcome: 'stale', ttlSeconds: -25 },
  })
  t.false(isCurrent())
  const good = worstOf([part('hit', 3), part('miss', 0)])!
  t.like(good, { stale: false, cache: { outcome: 'miss', ttlSeconds: 12 } })
  t.true(good.isCurrent())
})
