import type { Cluster, Redis } from 'ioredis'
import type { Notice } from '../domain/breaker.ts'

export type RedisNoticeOptions = {
  client: Redis | Cluster
  key: string
  /** Milliseconds since the Unix epoch. */
  now: () => number
}

/** One time under one key, gone when it is over. Rejects where Redis is away. */
export const redisNotice = ({ client, key, now }: RedisNoticeOptions): Notice => ({
  read: async () => {
    const text = await client.get(key)
    const until = Number(text ?? Number.NaN)
    return Number.isFinite(until) && until > now() ? until : null
  },
  write: async (until) => {
    if (until === null) await client.del(key)
    else await client.set(key, until, 'PX', Math.max(1, Math.ceil(until - now())))
  },
})
