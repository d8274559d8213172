import { randomUUID } from 'node:crypto'
import test from 'ava'
import { openRedisStore } from '../../../src/store/redis/open.ts'
import { startSpreadCluster, testRedis } from '../../helpers/redis.ts'
import type { OpenStore } from '../contract/subject.ts'
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

sharedStoreContract('redis', openAt(redis.url), 20)
sharedStoreContract('redis cluster', openAt(cluster.url), 5)
