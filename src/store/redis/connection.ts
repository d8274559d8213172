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
export const commandClient = (url: string): Client => createClient(url, COMMAND_TIMEOUT_MS, AT_ONCE)

/** For pages of a load, for which other commands must not wait. */
export const loadClient = (url: string): Client => createClient(url, LOAD_TIMEOUT_MS, AT_ONCE)

/** Short timeout: a request waits for its count, and a local count is better than a late one. */
export const counterClient = (url: string): Client => createClient(url, COUNT_TIMEOUT_MS, PIPELINED)

/** Subscribes again each time it is ready. */
export const subscriberClient = (url: string): Client =>
  createClient(url, undefined, { autoResubscribe: false })

/** Rejects with the reason of Redis or Sentinel: `connect` only says that a connection is closed, and asks Sentinels for ever. */
export async function connected(client: Client): Promise<void> {
  const failure = new Promise<never>((_, reject) => client.once('error', reject))
  await Promise.race([client.connect(), failure])
}

const AT_ONCE = { enableOfflineQueue: false }
const PIPELINED = { enableAutoPipelining: true, ...AT_ONCE }

function createClient(
  url: string,
  commandTimeout: number | undefined,
  options: { enableAutoPipelining?: boolean; enableOfflineQueue?: boolean; autoResubscribe?: boolean },
): Client {
  const { kind, hosts, name, isTls, redis, sentinel } = parseRedisUrl(url)
  const nodeOptions = { ...NODE_OPTIONS, ...(commandTimeout && { commandTimeout }) }
  const single = { ...nodeOptions, ...options, lazyConnect: true, retryStrategy: reconnectDelay }
  const client =
    kind === 'cluster'
      ? new Cluster(hosts, {
          ...options,
          lazyConnect: true,
          // ioredis 6 sends this check through its offline queue and never gets ready without one.
          enableReadyCheck: options.enableOfflineQueue ?? true,
          clusterRetryStrategy: reconnectDelay,
          // A busy node takes longer than the default of a second.
          slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
          redisOptions: { ...nodeOptions, ...redis },
        })
      : kind === 'sentinel'
        ? new Redis({
            ...{ ...single, ...redis, name, sentinels: hosts },
            sentinelUsername: sentinel?.username,
            sentinelPassword: sentinel?.password,
            ...(isTls && { enableTLSForSentinelMode: true, tls: {}, sentinelTLS: {} }),
            sentinelRetryStrategy: reconnectDelay,
            sentinelCommandTimeout: CONNECT_TIMEOUT_MS,
          })
        : new Redis(url, single)
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

const REDIS_URL = /^(redis|rediss|redis\+cluster|rediss?\+sentinel):\/\/(?:([^@/]*)@)?([^@/]+)(?:\/([^/]*))?$/
const DEFAULT_PORT = { single: 6379, cluster: 6379, sentinel: 26379 }

/** `name`: of the master, for Sentinel. @throws ConfigError that does not repeat the credentials */
function parseRedisUrl(url: string) {
  const [, scheme = '', userinfo = '', list = '', path = ''] = REDIS_URL.exec(url) ?? []
  const kind = scheme.endsWith('+sentinel') ? 'sentinel' : scheme.endsWith('+cluster') ? 'cluster' : 'single'
  const parsed = list.split(',').map((host) => URL.parse(`redis://${host}`))
  const nodes = parsed.filter((node) => node !== null).filter(({ hostname }) => hostname !== '')
  const isPath = kind === 'sentinel' ? path !== '' : /^\d*$/.test(path)
  const credentials = (kind === 'sentinel' ? userinfo.split(',') : [userinfo]).map(readCredentials)
  const isComplete = nodes.length === parsed.length && isPath && credentials.length <= 2
  if (!isComplete || (nodes.length > 1 && kind === 'single')) throw malformedUrl()
  return {
    kind,
    isTls: scheme.startsWith('rediss'),
    name: decodeURIComponent(path),
    hosts: nodes.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || DEFAULT_PORT[kind]),
    })),
    redis: credentials[0]!,
    sentinel: credentials[1],
  }
}

function readCredentials(userinfo: string) {
  const [, username, password] = /^([^:]*):?(.*)$/s.exec(userinfo)!.map(decodeURIComponent)
  return { ...(username && { username }), ...(password && { password }) }
}

const malformedUrl = (): ConfigError =>
  new ConfigError([
    {
      path: 'STORE_URL',
      message:
        'use redis://host:port, rediss://host:port, redis+cluster://host:port,host:port or ' +
        'redis+sentinel://host:port,host:port/NAME',
    },
  ])
