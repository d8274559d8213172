import { randomBytes } from 'node:crypto'
import test from 'ava'
import { redisSnapshot } from '../../src/cache/redis-snapshot.ts'
import type { Item } from '../../src/domain/page.ts'
import { commandClient, connected } from '../../src/store/redis-connection.ts'
import { testRedis } from '../helpers/redis.ts'

const URL = 'https://registry.example'

test('what was saved comes back to the byte, for its upstream alone and within its part of the memory', async (t) => {
  const redis = await testRedis()
  t.teardown(redis.dispose)
  const client = commandClient(redis.url)
  t.teardown(() => client.disconnect())
  await connected(client)
  const key = `entrepot-test:${randomBytes(8).toString('hex')}`
  const keeping = redisSnapshot({ client, key, url: URL, maxBytes: () => 1000 })
  t.is(await keeping.load(), null)

  const item = (text: string): Item => ({
    bytes: Buffer.from(text),
    listingId: 'a',
    createdAt: 1,
    storefrontUrl: null,
    publisher: null,
  })
  const listings = new Map([['a', item('{"listing_id":"a", "n": 99.0 ,"é":1180591620717411303424}')]])
  await keeping.save({ takenAt: 7, listings })
  t.deepEqual(await keeping.load(), { takenAt: 7, listings })
  t.is(await redisSnapshot({ client, key, url: 'https://other.example', maxBytes: () => 1000 }).load(), null)

  const noise = JSON.stringify(randomBytes(2000).toString('hex'))
  await t.throwsAsync(keeping.save({ takenAt: 8, listings: new Map([['a', item(`{"a":${noise}}`)]]) }), {
    message: /max_bytes/,
  })
  t.is((await keeping.load())?.takenAt, 7)
  await client.set(key, 'no gzip')
  await t.throwsAsync(keeping.load())
  await client.del(key)
})
