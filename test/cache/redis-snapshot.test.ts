import { randomBytes } from 'node:crypto'
import test from 'ava'
import { redisSnapshot } from '../../src/cache/redis-snapshot.ts'
import { fakeItem } from '../helpers/fake-source.ts'
import { testRedis } from '../helpers/redis.ts'
import { openRedisClient, testPrefix } from '../helpers/redis-cache.ts'

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
