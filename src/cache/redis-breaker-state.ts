import type { Cluster, Redis } from 'ioredis'

type RedisBreakerStateOptions = {
  client: Redis | Cluster
  key: string
  now: () => number
}

/** Until when any replica's circuit breaker is open, in one key that expires then. Rejects without Redis. */
export function redisBreakerState({ client, key, now }: RedisBreakerStateOptions) {
  return {
    read: async (): Promise<number | null> => {
      const text = await client.get(key)
      const until = Number(text ?? Number.NaN)
      return Number.isFinite(until) && until > now() ? until : null
    },
    write: async (until: number | null): Promise<void> => {
      if (until === null) await client.del(key)
      else await client.set(key, until, 'PX', Math.max(1, Math.ceil(until - now())))
    },
  }
}
