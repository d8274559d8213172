import { createClient, ErrorReply, type RedisClientType } from 'redis'
import type { Entity, Repository } from 'redis-om'
import { raceAbort } from '../domain/clock.ts'

const TIMEOUT_MS = 1000

type NodeRedis = RedisClientType
type Connection = { client: NodeRedis; ready: Promise<unknown> }

/** Requests to Redis that may fail. */
export type RedisLink = {
  /** Of all keys. */
  prefix: string
  /** Rejects after a second, and once the link is closed. */
  run: <T>(work: (client: NodeRedis) => Promise<T>) => Promise<T>
  close: () => void
}

/**
 * Connects with the first request, and with the first one after a failure. So nothing reconnects in the background,
 * and a stalled connection or a demoted master is left.
 */
export function redisLink(url: string, prefix: string): RedisLink {
  let current: Connection | null = null
  let isClosed = false
  const drop = (connection: Connection): void => {
    if (current === connection) current = null
    const { client } = connection
    if (client.isOpen) client.disconnect().catch(() => {}) // it is closed already
  }
  return {
    prefix,
    run: async (work) => {
      if (isClosed) throw new Error('closed')
      current ??= connect(url)
      const connection = current
      try {
        const working = connection.ready.then(() => work(connection.client))
        return await raceAbort(working, AbortSignal.timeout(TIMEOUT_MS))
      } catch (cause) {
        drop(connection)
        throw cause
      }
    },
    close: () => {
      isClosed = true
      if (current !== null) drop(current)
    },
  }
}

function connect(url: string): Connection {
  const client = openClient(url)
  // Without a listener, a lost connection would end the process. The request that it fails reports it.
  client.on('error', () => {})
  return { client, ready: client.connect() }
}

function openClient(url: string): NodeRedis {
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const common = {
    host,
    port: Number(port || DEFAULT_PORT),
    connectTimeout: TIMEOUT_MS,
    reconnectStrategy: false,
  } as const
  return createClient({
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: Number(pathname.slice(1)),
    disableOfflineQueue: true,
    socket: protocol === 'rediss:' ? { ...common, tls: true } : common,
  })
}

const DEFAULT_PORT = 6379

/**
 * `null` for a key of another type: other programs can write to this Redis, too, and redis-om fails a whole read for
 * one such key.
 */
export const fetchEntities = <T extends Entity>(
  repository: Repository<T>,
  ids: readonly string[],
): Promise<(T | null)[]> =>
  Promise.all(
    ids.map((id) =>
      repository.fetch(id).catch((cause: unknown) => {
        if (cause instanceof ErrorReply && cause.message.startsWith('WRONGTYPE')) return null
        throw cause
      }),
    ),
  )
