import { randomUUID } from 'node:crypto'
import test from 'ava'
import { redisKeyUses } from '../../src/fleet/redis-key-uses.ts'
import { redisLink } from '../../src/fleet/redis-link.ts'
import { testRedis } from '../helpers/redis.ts'
import { keyUseContract } from '../store/contract/key-uses.ts'

const redis = await testRedis()
test.after.always(() => redis.dispose())

keyUseContract('redis', async (t) => {
  const prefix = `{entrepot-test-${randomUUID()}}:`
  const open = () => {
    const link = redisLink(redis.url, prefix)
    t.teardown(link.close)
    return redisKeyUses(link)
  }
  return { one: open(), other: open() }
})
