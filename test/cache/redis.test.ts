import { randomBytes } from 'node:crypto'
import test from 'ava'
import { OVERHEAD_BYTES, PAUSE_MS } from '../../src/cache/redis.ts'
import { redisBreakerState } from '../../src/cache/redis-breaker-state.ts'
import { redisSnapshot } from '../../src/cache/redis-snapshot.ts'
import { systemClock } from '../../src/domain/clock.ts'
import { fakeItem } from '../helpers/fake-source.ts'
import { manualClock } from '../helpers/manual-clock.ts'
import { startRedis, testRedis } from '../helpers/redis.ts'
import { openRedisCache, openRedisClient, testPrefix } from '../helpers/redis-cache.ts'
import { entryOf, testCacheContract } from './contract.ts'

let redis: Awaited<ReturnType<typeof testRedis>>
test.before(async () => {
  redis = await testRedis()
})
test.after.always(() => redis.dispose())

testCacheContract(test, (t, clock) => openRedisCache(t, { url: redis.url, clock }))

async function openTwo(t: Parameters<typeof openRedisCache>[0], clock = manualClock()) {
  const settings = { url: redis.url, clock, prefix: testPrefix() }
  const [one, other] = [await openRedisCache(t, settings), await openRedisCache(t, settings)]
  return { one, other, clock, settings }
}

test('Redis cache: replicas share entries and drops', async (t) => {
  const { one, other, clock } = await openTwo(t)
  await one.set('group', 'key', entryOf('value', clock))
  t.deepEqual(await other.get('group', 'key'), entryOf('value', clock))
  await other.drop('group')
  t.is(await one.get('group', 'key'), null)
  await one.set('group', 'key', entryOf('value', clock))
  t.deepEqual(await other.get('group', 'key'), entryOf('value', clock))
})

test('Redis cache: an entry read before a drop is a miss when set after it', async (t) => {
  const { one, other, clock } = await openTwo(t)
  t.is(await one.get('group', 'key'), null)
  await other.drop('group')
  await one.set('group', 'key', entryOf('from before', clock))
  t.is(await other.get('group', 'key'), null)
})

test('Redis cache: one replica holds a lock until it is released', async (t) => {
  const { one, other } = await openTwo(t)
  const release = await one.tryLock('group', 'key', 60_000)
  t.truthy(release)
  t.is(await other.tryLock('group', 'key', 60_000), null)
  t.truthy(await other.tryLock('group', 'another', 60_000))
  release?.()
  const next = await until(() => other.tryLock('group', 'key', 60_000))
  // Released twice, it leaves the lock of another replica alone.
  release?.()
  t.is(await one.tryLock('group', 'key', 60_000), null)
  next()
})

test('Redis cache: an unreleased lock expires', async (t) => {
  const settings = { url: redis.url, clock: systemClock, prefix: testPrefix() }
  const [one, other] = [await openRedisCache(t, settings), await openRedisCache(t, settings)]
  await one.tryLock('group', 'key', 20)
  t.truthy(await until(() => other.tryLock('group', 'key', 20)))
})

test("Redis cache: beyond a group's budget the entries that expire next are evicted", async (t) => {
  const clock = manualClock()
  const maxGroupBytes = 20 * (1000 + OVERHEAD_BYTES)
  const cache = await openRedisCache(t, { url: redis.url, clock, maxGroupBytes })
  const keys = Array.from({ length: 100 }, (_, n) => String(n))
  for (const key of keys) {
    clock.advance(1000)
    await cache.set('group', key, entryOf('x'.repeat(Number(key) * 10), clock))
  }
  const found = await Promise.all(keys.map((key) => cache.get('group', key)))
  const bytes = found.reduce(
    (sum, entry) => sum + (entry === null ? 0 : entry.value.length + OVERHEAD_BYTES),
    0,
  )
  t.true(bytes <= maxGroupBytes && bytes > 0.75 * maxGroupBytes)
  const first = found.findIndex((entry) => entry !== null)
  t.true(first > 0 && found.slice(first).every((entry) => entry !== null))
  clock.advance(1_000_000)
  await cache.set('group', 'alone', entryOf('', clock))
  await cache.set('group', 'too large', entryOf('x'.repeat(30_000), clock))
  t.is(await cache.get('group', 'too large'), null)
  t.truthy(await cache.get('group', 'alone'))
})

test('Redis cache: without Redis gets miss, locks succeed and drops are deferred', async (t) => {
  const own = await startRedis()
  t.teardown(own.dispose)
  const clock = manualClock()
  const cache = await openRedisCache(t, { url: own.url, clock })
  await cache.set('group', 'key', entryOf('value', clock))
  await own.end('SIGKILL')
  t.is(await cache.get('group', 'key'), null)
  await cache.set('group', 'key', entryOf('value', clock))
  await cache.drop('group')
  t.truthy(await cache.tryLock('group', 'key', 1000))

  await own.start()
  // After a failure Redis is not queried for a while.
  t.is(await cache.get('group', 'key'), null)
  const written = await until(async () => {
    clock.advance(PAUSE_MS)
    const before = await cache.get('group', 'key')
    t.is(before, null, 'it was dropped while Redis was away')
    await cache.set('group', 'key', entryOf('value', clock))
    return cache.get('group', 'key')
  })
  t.is(written.value.toString(), 'value')
})

async function until<T>(attempt: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const result = await attempt()
    if (result !== null) return result
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('breaker state: replicas share the time until which a breaker is open', async (t) => {
  const redis = await testRedis()
  t.teardown(redis.dispose)
  const client = await openRedisClient(t, redis.url)
  const key = testPrefix()
  const { now } = systemClock
  const [one, other] = [redisBreakerState({ client, key, now }), redisBreakerState({ client, key, now })]
  t.is(await one.read(), null)
  const until = now() + 60_000
  await one.write(until)
  t.is(await other.read(), until)
  t.true((await client.pttl(key)) > 50_000)
  await other.write(null)
  t.is(await one.read(), null)
  await one.write(now() - 1)
  t.is(await other.read(), null)
  await client.set(key, 'nonsense')
  t.is(await other.read(), null)
})

test('Redis snapshot: it loads byte for byte, for its own identity, within its budget', async (t) => {
  const redis = await testRedis()
  t.teardown(redis.dispose)
  const client = await openRedisClient(t, redis.url)
  const key = testPrefix()
  const storageOf = (identity: string) => redisSnapshot({ client, key, identity, maxBytes: () => 1000 })
  const storage = storageOf('one upstream, one key')
  t.is(await storage.load(), null)
  const item = (text: string) => fakeItem('a', 1, { bytes: Buffer.from(text) })
  const listings = new Map([['a', item('{"listing_id":"a", "n": 99.0 ,"é":1180591620717411303424}')]])
  await storage.save({ takenAt: 7, listings })
  t.deepEqual(await storage.load(), { takenAt: 7, listings })
  t.is(await storageOf('one upstream, another key').load(), null)

  const noise = JSON.stringify(randomBytes(2000).toString('hex'))
  await t.throwsAsync(storage.save({ takenAt: 8, listings: new Map([['a', item(`{"a":${noise}}`)]]) }), {
    message: /max_bytes/,
  })
  t.is((await storage.load())?.takenAt, 7)
  await client.set(key, 'no gzip')
  await t.throwsAsync(storage.load())
  await client.del(key)
})
