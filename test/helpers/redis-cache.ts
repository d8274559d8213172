import { randomUUID } from 'node:crypto'
import type { ExecutionContext } from 'ava'
import { RedisCache } from '../../src/cache/redis.ts'
import { commandClient, connected } from '../../src/store/redis/connection.ts'
import type { ManualClock } from './manual-clock.ts'

/** A connection that fails at once without Redis, closed when the test ends. */
export async function openRedisClient(t: Pick<ExecutionContext, 'teardown'>, url: string) {
  const client = commandClient(url)
  t.teardown(() => client.disconnect())
  await connected(client)
  return client
}

type RedisCacheSettings = {
  url: string
  clock: Pick<ManualClock, 'now'>
  /** Caches with one prefix are replicas of each other. Default: a new one. */
  prefix?: string
  maxGroupBytes?: number
}

export async function openRedisCache(
  t: Pick<ExecutionContext, 'teardown'>,
  { url, clock, prefix = testPrefix(), maxGroupBytes = 2 ** 20 }: RedisCacheSettings,
): Promise<RedisCache> {
  const client = await openRedisClient(t, url)
  return new RedisCache({ client, prefix, maxGroupBytes: () => maxGroupBytes, now: clock.now })
}

export function testPrefix(): string {
  return `test:${randomUUID()}:`
}
