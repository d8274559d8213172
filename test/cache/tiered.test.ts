import { randomUUID } from 'node:crypto'
import test from 'ava'
import { LruCache } from '../../src/cache/lru.ts'
import { TieredCache } from '../../src/cache/tiered.ts'
import { type ManualClock, manualClock } from '../helpers/manual-clock.ts'
import { lifetimeFrom, testCacheContract } from './contract.ts'
import { redisCaches } from './redis-parts.ts'

const { open: openRedis } = redisCaches()

const open = async (clock: ManualClock, prefix?: string) => {
  const near = new LruCache<string>({ maxBytes: 2 ** 20, sizeOf: ({ length }) => length, now: clock.now })
  return new TieredCache(near, await openRedis(clock, prefix))
}

testCacheContract(test, open)

test('what another replica has kept is at hand once it was looked up', async (t) => {
  const clock = manualClock()
  const prefix = `test:${randomUUID()}:`
  const [one, other] = [await open(clock, prefix), await open(clock, prefix)]
  const kept = { value: 'kept', lifetime: lifetimeFrom(clock) }
  await one.set('group', 'key', kept)
  t.is(await other.get('group', 'key'), null)
  t.deepEqual(await other.lookUp('group', 'key'), kept)
  t.deepEqual(await other.get('group', 'key'), kept)
  t.true(other.bytes('group') > 0)
})

test('the later of two wins, wherever it lies', async (t) => {
  const clock = manualClock()
  const prefix = `test:${randomUUID()}:`
  const [one, other] = [await open(clock, prefix), await open(clock, prefix)]
  await one.set('group', 'key', { value: 'old', lifetime: lifetimeFrom(clock) })
  clock.advance(1000)
  await other.set('group', 'key', { value: 'new', lifetime: lifetimeFrom(clock) })
  t.is((await one.get('group', 'key'))?.value, 'old')
  t.is((await one.lookUp('group', 'key'))?.value, 'new')
  t.is((await one.get('group', 'key'))?.value, 'new')
})
