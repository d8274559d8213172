import { Cluster, Redis } from 'ioredis'
import { ConfigError } from '../errors.ts'

export type Client = Redis | Cluster

/** Longest wait for an answer, in ms; the write's fate is unknown then, and repeating it is safe. */
const COMMAND_TIMEOUT = 3000
const CONNECT_TIMEOUT = 3000
/** A connection that stays silent for this long with a command under way is given up, in ms. */
const SOCKET_TIMEOUT = 15_000
const MAX_RECONNECT_DELAY = 1000

const CLUSTER = /^redis\+cluster:\/\/(?:([^@/]*)@)?([^@/]+)\/?$/

/** Where the store is, without the credentials: for messages. */
export const placeOf = (url: string): string => url.replace(/\/\/[^/]*@/, '//')

/** For commands that fail at once when Redis is away. */
export const commandClient = (url: string): Client =>
  connect(
    url,
    { commandTimeout: COMMAND_TIMEOUT, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false },
    { enableAutoPipelining: true, enableOfflineQueue: false },
  )

/** For one blocking read after another, each repeated by the client itself until Redis is there. */
export const followerClient = (url: string): Client => connect(url, { maxRetriesPerRequest: null }, {})

type NodeOptions = {
  commandTimeout?: number
  maxRetriesPerRequest: number | null
  autoResendUnfulfilledCommands?: boolean
}
type ClientOptions = { enableAutoPipelining?: boolean; enableOfflineQueue?: boolean }

const connect = (url: string, node: NodeOptions, client: ClientOptions): Client => {
  const options = { ...NODE_OPTIONS, ...node }
  const connected = url.startsWith('redis+cluster:')
    ? new Cluster(clusterNodes(url), {
        ...client,
        lazyConnect: true,
        clusterRetryStrategy: reconnectDelay,
        redisOptions: { ...options, ...clusterCredentials(url) },
      })
    : new Redis(url, { ...options, ...client, lazyConnect: true, retryStrategy: reconnectDelay })
  // Every command rejects by itself, and the client reconnects; without a listener ioredis prints to the console.
  connected.on('error', () => {})
  return connected
}

const NODE_OPTIONS = { protocol: 2, connectTimeout: CONNECT_TIMEOUT, socketTimeout: SOCKET_TIMEOUT } as const

const reconnectDelay = (times: number): number => Math.min(50 * times, MAX_RECONNECT_DELAY)

const clusterNodes = (url: string): { host: string; port: number }[] => {
  const hosts = CLUSTER.exec(url)?.[2]?.split(',') ?? []
  return hosts.map((host) => {
    const node = URL.parse(`redis://${host}`)
    if (node === null || node.hostname === '')
      throw new ConfigError([
        { path: 'STORE_URL', message: `${host} is not a host: use redis+cluster://host:port,host:port` },
      ])
    return { host: node.hostname.replace(/^\[|\]$/g, ''), port: Number(node.port || 6379) }
  })
}

const clusterCredentials = (url: string): { username?: string; password?: string } => {
  const credentials = CLUSTER.exec(url)?.[1]
  if (credentials === undefined) return {}
  const { username, password } = new URL(`redis://${credentials}@host`)
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    password: decodeURIComponent(password),
  }
}
