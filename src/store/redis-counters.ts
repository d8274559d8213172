import { type Client, connected, counterClient } from './redis-connection.ts'
import { PREFIX } from './redis-session.ts'

export type RedisCounters = { client: Client; prefix: string; close: () => void }

/** A connection of its own: counts never wait behind long reads. Until it connects, processes count alone. */
export async function openRedisCounters(url: string): Promise<RedisCounters> {
  const client = counterClient(url)
  await connected(client).catch(() => {})
  return { client, prefix: PREFIX, close: () => client.disconnect() }
}
