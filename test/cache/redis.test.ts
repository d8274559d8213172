import { randomUUID } from 'node:crypto'
import test from 'ava'
import { REST_MS, RedisCache } from '../../src/cache/redis.ts'
import { OVERHEAD_BYTES } from '../../src/cache/redis-scripts.ts'
import { systemClock } from '../../src/domain/clock.ts'
import { counterClient } from '../../src/store/redis-connection.ts'
import { manualClock } from '../helpers/manual-clock.ts'
import { startRedis } from '../helpers/redis.ts'
import { lifetimeFrom, testCacheContract } from './contract.ts'
import { redisCaches, TEXTS } from './redis-parts.ts'

const { open } = redisCaches()

testCacheContract(test, open)

test('what one replica keeps the other finds, and what one drops the other has no longer', async (t) => {
  const clock = manualClock()
  const prefix = `test:${randomUUID()}:`
  const [one, other] = [await open(clock, prefix), await open(clock, prefix)]
  const kept = { value: 'kept', lifetime: lifetimeFrom(clock) }
  await one.set('group', 'key', kept)
  t.deepEqual(await other.lookUp('group', 'key'), kept)
  await other.drop('group')
  t.is(await one.lookUp('group', 'key'), null)
  await one.set('group', 'key', kept)
  t.deepEqual(await other.lookUp('group', 'key'), kept)
})

test('what was on its way when another replica dropped the group is not found', async (t) => {
  const clock = manualClock()
  const prefix = `test:${randomUUID()}:`
  const [one, other] = [await open(clock, prefix), await open(clock, prefix)]
  t.is(await one.lookUp('group', 'key'), null)
  await other.drop('group')
  await one.set('group', 'key', { value: 'from before', lifetime: lifetimeFrom(clock) })
  t.is(await other.lookUp('group', 'key'), null)
})

test('only one replica makes a value at a time, and the next when it is given back', async (t) => {
  const clock = manualClock()
  const prefix = `test:${randomUUID()}:`
  const [one, other] = [await open(clock, prefix), await open(clock, prefix)]
  const giveBack = await one.claim('group', 'key', 60_000)
  t.truthy(giveBack)
  t.is(await other.claim('group', 'key', 60_000), null)
  t.truthy(await other.claim('group', 'another', 60_000))
  giveBack?.()
  const taken = await until(() => other.claim('group', 'key', 60_000))
  // Given back twice it takes nothing away from whoever has it now.
  giveBack?.()
  t.is(await one.claim('group', 'key', 60_000), null)
  taken()
})

test('a claim whose holder is gone runs out', async (t) => {
  const prefix = `test:${randomUUID()}:`
  const [one, other] = [await open(systemClock, prefix), await open(systemClock, prefix)]
  await one.claim('group', 'key', 20)
  t.truthy(await until(() => other.claim('group', 'key', 20)))
})

test('a group takes up no more of Redis than it may, and what ends soonest makes room', async (t) => {
  const clock = manualClock()
  const cache = await open(clock, undefined, 20 * (1000 + OVERHEAD_BYTES))
  for (let n = 0; n < 200; n++) {
    clock.advance(1000)
    await cache.set('group', String(n % 190), { value: 'x'.repeat(n % 1000), lifetime: lifetimeFrom(clock) })
  }
  const found: number[] = []
  let bytes = 0
  // In the order in which they were set last.
  for (const n of [...Array.from({ length: 180 }, (_, n) => n + 10), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) {
    const kept = await cache.lookUp('group', String(n))
    if (kept === null) continue
    found.push(n)
    bytes += kept.value.length + OVERHEAD_BYTES
  }
  t.true(bytes <= 20 * (1000 + OVERHEAD_BYTES))
  t.true(bytes > 15 * (1000 + OVERHEAD_BYTES))
  const firstFound = found[0] ?? 0
  t.deepEqual(found, [
    ...Array.from({ length: 190 - firstFound }, (_, n) => n + firstFound),
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
  ])
  clock.advance(1_000_000)
  await cache.set('group', 'alone', { value: '', lifetime: lifetimeFrom(clock) })
  await cache.set('group', 'too large', { value: 'x'.repeat(30_000), lifetime: lifetimeFrom(clock) })
  t.is(await cache.lookUp('group', 'too large'), null)
  t.is((await cache.lookUp('group', 'alone'))?.value, '')
})

test('what cannot be read is as good as nothing', async (t) => {
  const clock = manualClock()
  const cache = await open(clock)
  const lifetime = lifetimeFrom(clock)
  await cache.set('group', 'bad', { value: '!', lifetime })
  await cache.set('group', 'good', { value: '', lifetime })
  t.is(await cache.lookUp('group', 'bad'), null)
  t.is((await cache.lookUp('group', 'good'))?.value, '')
})

test('a Redis that is away has nothing, takes nothing, and lets everybody make his own', async (t) => {
  const redis = await startRedis()
  t.teardown(redis.dispose)
  const clock = manualClock()
  const client = counterClient(redis.url)
  t.teardown(() => client.disconnect())
  await client.connect()
  const cache = new RedisCache({
    client,
    prefix: 'test:',
    maxGroupBytes: () => 2 ** 20,
    codec: TEXTS,
    now: clock.now,
  })
  const kept = { value: 'kept', lifetime: lifetimeFrom(clock) }
  await cache.set('group', 'key', kept)
  await redis.end('SIGKILL')
  t.is(await cache.lookUp('group', 'key'), null)
  await cache.set('group', 'key', kept)
  await cache.drop('group')
  const giveBack = await cache.claim('group', 'key', 1000)
  t.truthy(giveBack)
  giveBack?.()

  await redis.start()
  await until(async () => (client.status === 'ready' ? true : null))
  await cache.set('group', 'key', kept)
  t.is(await cache.lookUp('group', 'key'), null)
  clock.advance(REST_MS)
  // Dropped while Redis was away, and still in there.
  t.is(await cache.lookUp('group', 'key'), null)
  await cache.set('group', 'key', kept)
  t.deepEqual(await cache.lookUp('group', 'key'), kept)
})

const until = async <T>(attempt: () => Promise<T | null>): Promise<T> => {
  for (;;) {
    const done = await attempt()
    if (done !== null) return done
    await new Promise((resolve) => setImmediate(resolve))
  }
}
