import { Cluster, Redis } from 'ioredis'
import { ConfigError } from '../../errors.ts'

export type Client = Redis | Cluster

/** A write that times out may have happened; repeating it is safe. */
const COMMAND_TIMEOUT_MS = 3000
const COUNT_TIMEOUT_MS = 250
/** For a page of a load: over a slow link a start takes long, but does not fail. */
const LOAD_TIMEOUT_MS = 60_000
const CONNECT_TIMEOUT_MS = 3000
/** Closes a connection that is silent for this long during a command. */
const SOCKET_TIMEOUT_MS = 15_000
const MAX_RECONNECT_DELAY_MS = 1000

/** Commands fail at once while Redis is away. */
export const commandClient = (url: string): Client => createClient(url, COMMAND_TIMEOUT_MS, PIPELINED)

/** For pages of a load, for which other commands must not wait. */
export const loadClient = (url: string): Client => createClient(url, LOAD_TIMEOUT_MS, AT_ONCE)

/** Short timeout: a request waits for its count, and a local count is better than a late one. */
export const counterClient = (url: string): Client => createClient(url, COUNT_TIMEOUT_MS, PIPELINED)

/** Subscribes again each time it is ready. */
export const subscriberClient = (url: string): Client =>
  createClient(url, undefined, { autoResubscribe: false })

/** Rejects with Redis's reason where there is one. */
export async function connected(client: Client): Promise<void> {
  let reason: unknown
  client.once('error', (error: unknown) => {
    reason = error
  })
  try {
    await client.connect()
  } catch (error) {
    // `connect` itself only reports that the connection is closed.
    throw reason ?? error
  }
}

const AT_ONCE = { enableOfflineQueue: false }
const PIPELINED = { enableAutoPipelining: true, ...AT_ONCE }

function createClient(
  url: string,
  commandTimeout: number | undefined,
  options: { enableAutoPipelining?: boolean; enableOfflineQueue?: boolean; autoResubscribe?: boolean },
): Client {
  const { hosts, credentials, isCluster } = parseRedisUrl(url)
  const nodeOptions = { ...NODE_OPTIONS, ...(commandTimeout && { commandTimeout }) }
  const client = isCluster
    ? new Cluster(hosts, {
        ...options,
        lazyConnect: true,
        // ioredis 6 sends this check through its offline queue and never gets ready without one.
        enableReadyCheck: options.enableOfflineQueue ?? true,
        clusterRetryStrategy: reconnectDelay,
        // A busy node takes longer than the default of a second.
        slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
        redisOptions: { ...nodeOptions, ...credentials },
      })
    : new Redis(url, { ...nodeOptions, ...options, lazyConnect: true, retryStrategy: reconnectDelay })
  // Commands reject and the client reconnects by themselves; without a listener ioredis prints errors.
  client.on('error', () => {})
  return client
}

/** A demoted master keeps its connections: only a new one reaches the new master. */
const isDemoted = (error: Error): boolean => error.message.includes('READONLY')

const NODE_OPTIONS = {
  protocol: 2,
  connectTimeout: CONNECT_TIMEOUT_MS,
  socketTimeout: SOCKET_TIMEOUT_MS,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  reconnectOnError: isDemoted,
} as const

const reconnectDelay = (times: number): number => Math.min(50 * times, MAX_RECONNECT_DELAY_MS)

const REDIS_URL = /^(redis|rediss|redis\+cluster):\/\/(?:([^@/]*)@)?([^@/]+)(?:\/\d*)?$/
const DEFAULT_PORT = 6379

/** @throws ConfigError that does not repeat the credentials */
function parseRedisUrl(url: string) {
  const [, scheme, userinfo, list = ''] = REDIS_URL.exec(url) ?? []
  const isCluster = scheme === 'redis+cluster'
  const parsed = list.split(',').map((host) => URL.parse(`redis://${userinfo ?? ''}@${host}`))
  const nodes = parsed.filter((node) => node !== null).filter(({ hostname }) => hostname !== '')
  if (nodes.length < parsed.length || (parsed.length > 1 && !isCluster)) throw malformedUrl()
  const { username, password } = nodes[0]!
  return {
    isCluster,
    hosts: nodes.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || DEFAULT_PORT),
    })),
    credentials: {
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
    },
  }
}

const malformedUrl = (): ConfigError =>
  new ConfigError([
    {
      path: 'STORE_URL',
      message: 'use redis://host:port, rediss://host:port or redis+cluster://host:port,host:port',
    },
  ])
