import test from 'ava'
import fc from 'fast-check'
import { ENTRY_BYTES, LruCache } from '../../src/cache/lru.ts'
import { manualClock } from '../helpers/manual-clock.ts'
import { entryOf, testCacheContract } from './contract.ts'

const clock = manualClock()

testCacheContract(test, (_t, own) => lruCache(2 ** 20, own))

test('LRU cache: groups share maxBytes, and bytes() counts each', (t) => {
  const groups = ['a', 'b', 'c']
  const keys = Array.from({ length: 12 }, (_, n) => 'k'.repeat(n + 1))
  const operation = fc.record({
    group: fc.constantFrom(...groups),
    key: fc.constantFrom(...keys),
    size: fc.integer({ min: 0, max: 9000 }),
    action: fc.constantFrom('set', 'set', 'set', 'set', 'set', 'drop', 'resize'),
  })
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
      const cache = lruCache(20_000)
      let maxBytes = 20_000
      for (const { group, key, size, action } of operations) {
        if (action === 'drop') cache.drop(group)
        else if (action === 'set') cache.set(group, key, entryOf('x'.repeat(size), clock))
        else {
          maxBytes = size * 3
          cache.resize(maxBytes)
        }
      }
      const bytes = groups.map((group) => {
        const found = keys.map((key) => ({ key, entry: cache.get(group, key) }))
        const sizes = found.map(({ key, entry }) =>
          entry === null ? 0 : entry.value.length + ENTRY_BYTES + 2 * (group.length + key.length),
        )
        return sizes.reduce((sum, size) => sum + size)
      })
      t.deepEqual(
        groups.map((group) => cache.bytes(group)),
        bytes,
      )
      t.true(bytes.reduce((sum, size) => sum + size) <= maxBytes)
    }),
  )
})

test('LRU cache: the least recently used entry is evicted first, also on resize', (t) => {
  const cache = lruCache(3 * (1000 + ENTRY_BYTES + 12))
  for (const key of ['1', '2', '3']) cache.set('group', key, entryOf('x'.repeat(1000), clock))
  cache.get('group', '1')
  cache.set('group', '4', entryOf('x'.repeat(1000), clock))
  const held = () => ['1', '2', '3', '4'].filter((key) => cache.get('group', key) !== null)
  t.deepEqual(held(), ['1', '3', '4'])
  cache.resize(1 * (1000 + ENTRY_BYTES + 12))
  t.deepEqual(held(), ['4'])
})

test('LRU cache: an entry larger than maxBytes is not stored and evicts none', (t) => {
  const cache = lruCache(10_000)
  cache.set('group', 'small', entryOf('x', clock))
  cache.set('group', 'large', entryOf('x'.repeat(20_000), clock))
  t.is(cache.get('group', 'large'), null)
  t.is(cache.get('group', 'small')?.value.toString(), 'x')
})

test('LRU cache: maxBytes of 0 stores nothing', (t) => {
  const cache = lruCache(0)
  cache.set('group', 'key', entryOf('', clock))
  t.is(cache.get('group', 'key'), null)
  t.is(cache.bytes('group'), 0)
  cache.drop('group')
})

function lruCache(maxBytes: number, { now } = clock): LruCache<Buffer> {
  return new LruCache({ maxBytes, sizeOf: ({ length }) => length, now })
}
