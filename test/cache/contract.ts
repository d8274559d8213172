import type { TestFn } from 'ava'
import type { Cache } from '../../src/cache/cache.ts'
import type { Lifetime } from '../../src/domain/freshness.ts'
import { type ManualClock, manualClock } from '../helpers/manual-clock.ts'

export type OpenCache = (clock: ManualClock) => Cache<string> | Promise<Cache<string>>

/** What every cache guarantees (`cache/cache.ts`). */
export const testCacheContract = (test: TestFn, open: OpenCache): void => {
  const start = async () => {
    const clock = manualClock()
    return { clock, cache: await open(clock) }
  }

  test('what was set last is found, with its lifetime, under its group and key only', async (t) => {
    const { cache, clock } = await start()
    t.is(await cache.get('group', 'key'), null)
    const lifetime = lifetimeFrom(clock)
    await cache.set('group', 'key', { value: 'first', lifetime })
    await cache.set('group', 'key', { value: 'second', lifetime })
    await cache.set('group', 'other', { value: 'third', lifetime })
    t.deepEqual(await cache.get('group', 'key'), { value: 'second', lifetime })
    t.deepEqual(await cache.get('group', 'other'), { value: 'third', lifetime })
    t.is(await cache.get('other', 'key'), null)
  })

  test('names of groups and keys do not run into each other', async (t) => {
    const { cache, clock } = await start()
    await cache.set('a', 'b', { value: 'ab', lifetime: lifetimeFrom(clock) })
    for (const [group, key] of [
      ['a:b', ''],
      ['', 'a:b'],
      ['ab', ''],
      ['a', 'b:'],
      ['a:', 'b'],
    ] as const)
      t.is(await cache.get(group, key), null)
  })

  test('a value is found until its deleteAt, and not from then on', async (t) => {
    const { cache, clock } = await start()
    const lifetime = lifetimeFrom(clock)
    await cache.set('group', 'key', { value: 'kept', lifetime })
    clock.advance(lifetime.deleteAt - clock.now() - 1)
    t.is((await cache.get('group', 'key'))?.value, 'kept')
    clock.advance(1)
    t.is(await cache.get('group', 'key'), null)
  })

  test('who claims a value may make it', async (t) => {
    const { cache } = await start()
    const giveBack = await cache.claim('group', 'key', 1000)
    t.truthy(giveBack)
    giveBack?.()
  })

  test('looking up finds at least what is at hand', async (t) => {
    const { cache, clock } = await start()
    t.is(await cache.lookUp('group', 'key'), null)
    const kept = { value: 'kept', lifetime: lifetimeFrom(clock) }
    await cache.set('group', 'key', kept)
    t.deepEqual(await cache.lookUp('group', 'key'), kept)
  })

  test('a dropped group is forgotten, the others stay, and what is set after it is kept', async (t) => {
    const { cache, clock } = await start()
    const kept = (value: string) => ({ value, lifetime: lifetimeFrom(clock) })
    await cache.set('group', 'one', kept('1'))
    await cache.set('group', 'two', kept('2'))
    await cache.set('other', 'one', kept('3'))
    clock.advance(1)
    await cache.drop('group')
    t.is(await cache.get('group', 'one'), null)
    t.is(await cache.get('group', 'two'), null)
    t.is((await cache.get('other', 'one'))?.value, '3')
    clock.advance(1)
    await cache.set('group', 'one', kept('4'))
    t.is((await cache.get('group', 'one'))?.value, '4')
  })
}

export const lifetimeFrom = ({ now }: Pick<ManualClock, 'now'>): Lifetime => ({
  fetchedAt: now(),
  staleAt: now() + 15_000,
  waitAt: now() + 75_000,
  deleteAt: now() + 900_000,
})
