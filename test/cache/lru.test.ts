import test from 'ava'
import fc from 'fast-check'
import { ENTRY_BYTES, LruCache } from '../../src/cache/lru.ts'
import { manualClock } from '../helpers/manual-clock.ts'
import { lifetimeFrom, testCacheContract } from './contract.ts'

const MEGABYTE = 2 ** 20

const lruCache = (maxBytes = MEGABYTE, clock = manualClock()) => ({
  clock,
  cache: new LruCache<string>({ maxBytes, sizeOf: ({ length }) => length, now: clock.now }),
})

testCacheContract(test, (clock) => lruCache(MEGABYTE, clock).cache)

test('all groups together never take up more than max_bytes, and bytes says what each takes', async (t) => {
  const groups = ['a', 'b', 'c']
  const operation = fc.record({
    group: fc.constantFrom(...groups),
    key: fc.integer({ min: 0, max: 12 }).map(String),
    size: fc.integer({ min: 0, max: 9000 }),
    drop: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 60 }), async (operations) => {
      const { cache, clock } = lruCache(20_000)
      for (const { group, key, size, drop } of operations) {
        if (drop) await cache.drop(group)
        else await cache.set(group, key, { value: 'x'.repeat(size), lifetime: lifetimeFrom(clock) })
      }
      let all = 0
      for (const group of groups) {
        let bytes = 0
        for (let key = 0; key <= 12; key++) {
          const kept = await cache.get(group, String(key))
          if (kept !== null) bytes += kept.value.length + ENTRY_BYTES
        }
        t.is(cache.bytes(group), bytes)
        all += bytes
      }
      t.true(all <= 20_000)
    }),
  )
})

test('what was used longest ago makes room', async (t) => {
  const { cache, clock } = lruCache(3 * (1000 + ENTRY_BYTES))
  const kept = { value: 'x'.repeat(1000), lifetime: lifetimeFrom(clock) }
  for (const key of ['1', '2', '3']) await cache.set('group', key, kept)
  await cache.get('group', '1')
  await cache.set('group', '4', kept)
  const found = await Promise.all(['1', '2', '3', '4'].map((key) => cache.get('group', key)))
  t.deepEqual(
    found.map((one) => one !== null),
    [true, false, true, true],
  )
})

test('a value larger than everything is not kept and pushes nothing out', async (t) => {
  const { cache, clock } = lruCache(10_000)
  const lifetime = lifetimeFrom(clock)
  await cache.set('group', 'small', { value: 'x', lifetime })
  await cache.set('group', 'large', { value: 'x'.repeat(20_000), lifetime })
  t.is(await cache.get('group', 'large'), null)
  t.is((await cache.get('group', 'small'))?.value, 'x')
})

test('max_bytes of 0 keeps nothing', async (t) => {
  const { cache, clock } = lruCache(0)
  await cache.set('group', 'key', { value: '', lifetime: lifetimeFrom(clock) })
  t.is(await cache.get('group', 'key'), null)
  t.is(cache.bytes('group'), 0)
  await cache.drop('group')
})
