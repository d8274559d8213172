import { randomUUID } from 'node:crypto'
import test from 'ava'
import { Redis } from 'ioredis'
import { openRedisStore } from '../../../src/store/redis/open.ts'
import { startSpreadCluster, testRedis } from '../../helpers/redis.ts'
import { keyNamed, loaded, type OpenStore } from '../contract/subject.ts'
import { sharedStoreContract } from '../contract.ts'

const redis = await testRedis()
const cluster = await startSpreadCluster()
test.after.always(() => Promise.all([redis.dispose(), cluster.dispose()]))

/** Every test has its own keys. */
const openAt =
  (url: string): OpenStore =>
  async (t, options) => {
    const under = { prefix: `{entrepot-test-${randomUUID()}}:`, ...options }
    const opened = async () => {
      const { store } = await openRedisStore(url, under)
      t.teardown(() => store.close())
      return store
    }
    return { store: await opened(), another: opened }
  }

test('redis: a key of a store without expiries never expires', async (t) => {
  const prefix = `{entrepot-test-${randomUUID()}}:`
  const { store } = await openRedisStore(redis.url, { prefix })
  t.teardown(() => store.close())
  await store.addKey(keyNamed('old'))
  const client = new Redis(redis.url)
  t.teardown(() => client.disconnect())
  const row = await client.hget(`${prefix}api-keys`, '1')
  await client.hset(`${prefix}api-keys`, '1', row!.split('\u001f').slice(0, 5).join('\u001f'))
  t.like((await loaded(store)).changes, [{ kind: 'key', key: { name: 'old', expiresAt: null } }])
})

sharedStoreContract('redis', openAt(redis.url), 20)
sharedStoreContract('redis cluster', openAt(cluster.url), 5)
