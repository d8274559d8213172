import { randomUUID } from 'node:crypto'
import test, { type ExecutionContext } from 'ava'
import { openRedisStore, type RedisStoreOptions } from '../../src/store/redis.ts'
import { testRedis } from '../helpers/redis.ts'
import type { OpenStore } from './contract/subject.ts'
import { sharedStoreContract } from './contract.ts'

const redis = await testRedis()
test.after.always(() => redis.dispose())

const opened = async (t: ExecutionContext, options: RedisStoreOptions) => {
  const { store } = await openRedisStore(redis.url, options)
  t.teardown(() => store.close())
  return store
}

const openUnderRandomPrefix: OpenStore = async (t, options) => {
  const under = { prefix: `{entrepot-test-${randomUUID()}}:`, ...options }
  return { store: await opened(t, under), another: () => opened(t, under) }
}

sharedStoreContract('redis', openUnderRandomPrefix, 20)
