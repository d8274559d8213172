import { randomUUID } from 'node:crypto'
import test from 'ava'
import { RedisCache } from '../../src/cache/redis.ts'
import type { Codec } from '../../src/cache/redis-entry.ts'
import { connected, counterClient } from '../../src/store/redis-connection.ts'
import type { ManualClock } from '../helpers/manual-clock.ts'
import { testRedis } from '../helpers/redis.ts'

/** Texts that begin with a `!` cannot be read. */
export const TEXTS: Codec<string> = {
  encode: (text) => Buffer.from(text),
  decode: (bytes) => {
    const text = bytes.toString()
    if (text.startsWith('!')) throw new SyntaxError('not a text of ours')
    return text
  },
}

export type OpenRedisCache = (
  clock: Pick<ManualClock, 'now'>,
  prefix?: string,
  maxGroupBytes?: number,
) => Promise<RedisCache<string>>

/** For all tests of a file: one Redis, and caches in it, each with its own keys unless told otherwise. */
export const redisCaches = (): { open: OpenRedisCache; url: () => string } => {
  let url = ''
  const closers: (() => unknown)[] = []
  test.before(async () => {
    const redis = await testRedis()
    url = redis.url
    closers.push(redis.dispose)
  })
  test.after.always(async () => {
    for (const close of closers.reverse()) await close()
  })
  const open: OpenRedisCache = async ({ now }, prefix = `test:${randomUUID()}:`, maxGroupBytes = 2 ** 20) => {
    const client = counterClient(url)
    await connected(client)
    closers.push(() => client.disconnect())
    return new RedisCache({ client, prefix, maxGroupBytes: () => maxGroupBytes, codec: TEXTS, now })
  }
  return { open, url: () => url }
}
