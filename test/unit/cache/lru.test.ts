import test from 'ava'
import fc from 'fast-check'
import { type CacheEntry, ENTRY_BYTES, LruCache } from '../../../src/cache/lru.ts'
import { manualClock } from '../../helpers/manual-clock.ts'

const clock = manualClock()

test('LRU cache: an entry is found under its group and key, as last set', (t) => {
  const cache = lruCache(2 ** 20)
  t.is(cache.get('group', 'key'), null)
  cache.set('group', 'key', entryOf('first'))
  cache.set('group', 'key', entryOf('second'))
  cache.set('group', 'other', entryOf('third'))
  t.deepEqual(cache.get('group', 'key'), entryOf('second'))
  t.deepEqual(cache.get('group', 'other'), entryOf('third'))
  t.is(cache.get('other', 'key'), null)
  t.is(cache.get('groupkey', ''), null)
})

test('LRU cache: an entry is found until its deleteAt', (t) => {
  const own = manualClock()
  const cache = lruCache(2 ** 20, own)
  const entry = entryOf('value', own)
  cache.set('group', 'key', entry)
  own.advance(entry.lifetime.deleteAt - own.now() - 1)
  t.deepEqual(cache.get('group', 'key'), entry)
  own.advance(1)
  t.is(cache.get('group', 'key'), null)
})

test('LRU cache: dropping a group keeps the others, and it can be filled again', (t) => {
  const cache = lruCache(2 ** 20)
  cache.set('group', 'one', entryOf('1'))
  cache.set('group', 'two', entryOf('2'))
  cache.set('other', 'one', entryOf('3'))
  cache.drop('group')
  t.is(cache.get('group', 'one'), null)
  t.is(cache.get('group', 'two'), null)
  t.is(cache.get('other', 'one')?.value.toString(), '3')
  cache.set('group', 'one', entryOf('4'))
  t.is(cache.get('group', 'one')?.value.toString(), '4')
})

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
        else if (action === 'set') cache.set(group, key, entryOf('x'.repeat(size)))
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
  for (const key of ['1', '2', '3']) cache.set('group', key, entryOf('x'.repeat(1000)))
  cache.get('group', '1')
  cache.set('group', '4', entryOf('x'.repeat(1000)))
  const held = () => ['1', '2', '3', '4'].filter((key) => cache.get('group', key) !== null)
  t.deepEqual(held(), ['1', '3', '4'])
  cache.resize(1 * (1000 + ENTRY_BYTES + 12))
  t.deepEqual(held(), ['4'])
})

test('LRU cache: an entry larger than maxBytes is not stored and evicts none', (t) => {
  const cache = lruCache(10_000)
  cache.set('group', 'small', entryOf('x'))
  cache.set('group', 'large', entryOf('x'.repeat(20_000)))
  t.is(cache.get('group', 'large'), null)
  t.is(cache.get('group', 'small')?.value.toString(), 'x')
})

test('LRU cache: maxBytes of 0 stores nothing', (t) => {
  const cache = lruCache(0)
  cache.set('group', 'key', entryOf(''))
  t.is(cache.get('group', 'key'), null)
  t.is(cache.bytes('group'), 0)
  cache.drop('group')
})

function lruCache(maxBytes: number, { now } = clock): LruCache<Buffer> {
  return new LruCache({ maxBytes, sizeOf: ({ length }) => length, now })
}

function entryOf(value: string, { now } = clock): CacheEntry<Buffer> {
  const lifetime = {
    staleAt: now() + 15_000,
    revalidateUntil: now() + 75_000,
    deleteAt: now() + 900_000,
  }
  return { value: Buffer.from(value), lifetime }
}
