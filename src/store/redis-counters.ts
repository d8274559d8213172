import { type Client, connected, counterClient } from './redis-connection.ts'
import { PREFIX } from './redis-session.ts'

/** A client for counters that replicas share, with what comes before their keys. */
export type RedisCounters = { client: Client; prefix: string; close: () => void }

/**
 * Beside the store's own connection, so that counting never waits behind a long read, and a mutation not behind it. Where
 * Redis takes its time it comes later: who counts by it counts alone until then.
 */
export const openRedisCounters = async (url: string): Promise<RedisCounters> => {
  const client = counterClient(url)
  await connected(client).catch(() => {})
  return { client, prefix: PREFIX, close: () => client.disconnect() }
}
