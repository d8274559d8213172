import { type Client, connected, counterClient, placeOf } from './redis-connection.ts'
import { openFailure } from './redis-errors.ts'
import { PREFIX } from './redis-session.ts'

/** A client for counters that replicas share, with what comes before their keys. */
export type RedisCounters = { client: Client; prefix: string; close: () => void }

/**
 * Beside the store's own connection, so that counting never waits behind a long read, and a mutation not behind it.
 * @throws EntrepotError `unavailable` where Redis cannot be reached
 */
export const openRedisCounters = async (url: string): Promise<RedisCounters> => {
  const client = counterClient(url)
  try {
    await connected(client)
    return { client, prefix: PREFIX, close: () => client.disconnect() }
  } catch (error) {
    client.disconnect()
    throw openFailure(error, placeOf(url))
  }
}
