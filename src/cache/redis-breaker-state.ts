import type { Cluster, Redis } from 'ioredis'

type RedisBreakerStateOptions = {
  client: Redis | Cluster
  key: string
  /** Of `Clock.monotonic`. */
  now: () => number
}

/** Until when the circuit breaker is open that opened last, of any replica, in one key that expires then. Rejects without Redis. */
export function redisBreakerState({ client, key, now }: RedisBreakerStateOptions) {
  return {
    read: async (): Promise<number | null> => {
      const leftMs = await client.pttl(key)
      return leftMs > 0 ? now() + leftMs : null
    },
    write: async (until: number): Promise<void> => {
      const leftMs = Math.ceil(until - now())
      await (leftMs > 0 ? client.set(key, 'open', 'PX', leftMs) : client.del(key))
    },
  }
}
