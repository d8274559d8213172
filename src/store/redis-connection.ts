import { Cluster, Redis } from 'ioredis'
import { parseRedisUrl } from './redis-url.ts'

export type Client = Redis | Cluster

/** Longest wait for an answer, in ms; the write's fate is unknown then, and repeating it is safe. */
const COMMAND_TIMEOUT = 3000
/** The same for a count, in ms. */
const COUNT_TIMEOUT = 250
/** The same for a page of a load, in ms: a start over a slow link takes long rather than fails. */
const LOAD_TIMEOUT = 60_000
const CONNECT_TIMEOUT = 3000
/** A connection that stays silent for this long with a command under way is given up, in ms. */
const SOCKET_TIMEOUT = 15_000
const MAX_RECONNECT_DELAY = 1000

/** Where the store is, without the credentials: for messages. */
export const placeOf = (url: string): string => url.replace(/\/\/[^/]*@/, '//')

/** For commands that fail at once when Redis is away. */
export const commandClient = (url: string): Client =>
  connect(
    url,
    { commandTimeout: COMMAND_TIMEOUT, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false },
    { enableAutoPipelining: true, enableOfflineQueue: false },
  )

/** Resolves when the client is connected; rejects with what is in the way. */
export const connected = async (client: Client): Promise<void> => {
  let refusal: unknown
  client.once('error', (error: unknown) => {
    refusal = error
  })
  try {
    await client.connect()
  } catch (error) {
    // `connect` itself only says that the connection is closed.
    throw refusal ?? error
  }
}

/** For the commands of one load, so that no other command waits behind its pages. */
export const loadClient = (url: string): Client =>
  connect(
    url,
    { commandTimeout: LOAD_TIMEOUT, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false },
    { enableOfflineQueue: false },
  )

/** For counting requests, each of which waits for its count: rather counted by itself alone than late. */
export const counterClient = (url: string): Client =>
  connect(
    url,
    { commandTimeout: COUNT_TIMEOUT, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false },
    { enableAutoPipelining: true, enableOfflineQueue: false },
  )

/** For one blocking read after another. A read waits for the connection, and rejects when that breaks or fails. */
export const followerClient = (url: string): Client =>
  connect(url, { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false }, {})

type NodeOptions = {
  commandTimeout?: number
  maxRetriesPerRequest: number
  autoResendUnfulfilledCommands?: boolean
}
type ClientOptions = { enableAutoPipelining?: boolean; enableOfflineQueue?: boolean }

const connect = (url: string, node: NodeOptions, client: ClientOptions): Client => {
  const { hosts, credentials, cluster } = parseRedisUrl(url)
  const options = { ...NODE_OPTIONS, ...node }
  const made = cluster
    ? new Cluster(hosts, {
        ...client,
        lazyConnect: true,
        // ioredis 6 sends this check through its own offline queue, and without one it never gets ready.
        enableReadyCheck: client.enableOfflineQueue ?? true,
        clusterRetryStrategy: reconnectDelay,
        redisOptions: { ...options, ...credentials },
      })
    : new Redis(url, { ...options, ...client, lazyConnect: true, retryStrategy: reconnectDelay })
  // Every command rejects by itself, and the client reconnects; without a listener ioredis prints to the console.
  made.on('error', () => {})
  return made
}

/** A master that was demoted keeps its connections: only a new one can reach the master that took its place. */
const isDemoted = (error: Error): boolean => error.message.includes('READONLY')

const NODE_OPTIONS = {
  protocol: 2,
  connectTimeout: CONNECT_TIMEOUT,
  socketTimeout: SOCKET_TIMEOUT,
  reconnectOnError: isDemoted,
} as const

const reconnectDelay = (times: number): number => Math.min(50 * times, MAX_RECONNECT_DELAY)
