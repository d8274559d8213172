import type { ExecutionContext, TestFn } from 'ava'
import type { CacheEntry } from '../../src/cache/lru.ts'
import type { Lifetime } from '../../src/domain/source/freshness.ts'
import { type ManualClock, manualClock } from '../helpers/manual-clock.ts'

/** What a cache of this process and one that replicas share have in common. */
type TestedCache = {
  get: (group: string, key: string) => Found | Promise<Found>
  set: (group: string, key: string, entry: CacheEntry<Buffer>) => unknown
  drop: (group: string) => unknown
}

type Found = CacheEntry<Buffer> | null

/** The tests that every cache passes. */
export function testCacheContract(
  test: TestFn,
  open: (t: ExecutionContext, clock: ManualClock) => TestedCache | Promise<TestedCache>,
): void {
  const start = async (t: ExecutionContext) => {
    const clock = manualClock()
    return { clock, cache: await open(t, clock) }
  }

  test('cache: an entry is found under its group and key, as last set', async (t) => {
    const { cache, clock } = await start(t)
    t.is(await cache.get('group', 'key'), null)
    await cache.set('group', 'key', entryOf('first', clock))
    await cache.set('group', 'key', entryOf('second', clock))
    await cache.set('group', 'other', entryOf('third', clock))
    t.deepEqual(await cache.get('group', 'key'), entryOf('second', clock))
    t.deepEqual(await cache.get('group', 'other'), entryOf('third', clock))
    t.is(await cache.get('other', 'key'), null)
  })

  test('cache: similar groups and keys are distinct', async (t) => {
    const { cache, clock } = await start(t)
    await cache.set('a', 'b', entryOf('ab', clock))
    for (const [group, key] of [
      ['a:b', ''],
      ['', 'a:b'],
      ['ab', ''],
      ['a', 'b:'],
      ['a:', 'b'],
    ] as const)
      t.is(await cache.get(group, key), null)
  })

  test('cache: an entry is found until its deleteAt', async (t) => {
    const { cache, clock } = await start(t)
    const entry = entryOf('value', clock)
    await cache.set('group', 'key', entry)
    clock.advance(entry.lifetime.deleteAt - clock.now() - 1)
    t.deepEqual(await cache.get('group', 'key'), entry)
    clock.advance(1)
    t.is(await cache.get('group', 'key'), null)
  })

  test('cache: dropping a group keeps the others, and it can be filled again', async (t) => {
    const { cache, clock } = await start(t)
    await cache.set('group', 'one', entryOf('1', clock))
    await cache.set('group', 'two', entryOf('2', clock))
    await cache.set('other', 'one', entryOf('3', clock))
    await cache.drop('group')
    t.is(await cache.get('group', 'one'), null)
    t.is(await cache.get('group', 'two'), null)
    t.is((await cache.get('other', 'one'))?.value.toString(), '3')
    await cache.set('group', 'one', entryOf('4', clock))
    t.is((await cache.get('group', 'one'))?.value.toString(), '4')
  })
}

export function entryOf(value: string, { now }: Pick<ManualClock, 'now'>): CacheEntry<Buffer> {
  const lifetime: Lifetime = {
    fetchedAt: now(),
    staleAt: now() + 15_000,
    revalidateUntil: now() + 75_000,
    deleteAt: now() + 900_000,
  }
  return { value: Buffer.from(value), lifetime }
}
