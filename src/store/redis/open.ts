import { Redis } from 'ioredis'
import { redactCredentials } from '../../domain/safe-text.ts'
import { ConfigError, EntrepotError } from '../../errors.ts'
import { Store, type StoreOptions } from '../store.ts'
import { type Client, commandClient, connected, counterClient } from './connection.ts'
import { FORMAT, formatKey, KEY_PREFIX, RedisSession, replyWord } from './session.ts'
import { RedisRows } from './store.ts'

type RedisStoreOptions = StoreOptions & {
  /** With braces that keep all keys in one slot of a Cluster. Default `KEY_PREFIX`. */
  prefix?: string
  /** Refuses a Redis without a store, and changes nothing there. */
  mustExist?: boolean
}

/**
 * A store in Redis 6.2 or newer, or Valkey. While Redis is away every call rejects at once with
 * `unavailable`. With `appendfsync everysec` the last second of acknowledged writes can be lost; `warnings`
 * names worse settings; `isNew`: there was no store.
 * @throws ConfigError for a URL, a password or a layout of keys that cannot be used
 * @throws EntrepotError `unavailable` where Redis cannot be reached
 */
export async function openRedisStore(
  url: string,
  options: RedisStoreOptions = {},
): Promise<{ store: Store; warnings: string[]; isNew: boolean }> {
  const { prefix = KEY_PREFIX, mustExist = false } = options
  const session = new RedisSession(commandClient(url), prefix)
  try {
    await connected(session.client)
    const isNew = !mustExist && (await session.client.setnx(formatKey(prefix), FORMAT)) === 1
    await checkFormat(session, redactCredentials(url))
    const warnings = await durabilityWarnings(session.client)
    return { store: new Store(new RedisRows(url, session), options), warnings, isNew }
  } catch (error) {
    session.client.disconnect()
    throw redisOpenFailure(error, redactCredentials(url))
  }
}

async function checkFormat({ client, prefix }: RedisSession, where: string): Promise<void> {
  const format = await client.get(formatKey(prefix))
  if (Number(format) === FORMAT) return
  throw new ConfigError([{ path: 'STORE_URL', message: describeFormat(format, where, prefix) }])
}

function describeFormat(format: string | null, where: string, prefix: string): string {
  if (format === null)
    return `Redis at ${where} has no store of entrepot: point STORE_URL at the one of the service`
  const written = `Redis at ${where} was written by`
  return Number(format) > FORMAT
    ? `${written} a newer entrepot (format ${format}, this one reads ${FORMAT}): run that version again, or point STORE_URL at ` +
        'another Redis'
    : `${written} an older entrepot (format ${format}, this one reads ${FORMAT}), and is not converted: point STORE_URL at another ` +
        `Redis, or delete its keys there (redis-cli --scan --pattern '${prefix}*' | xargs redis-cli unlink), and let sellers run ` +
        '`entrepot sync`'
}

/** For the operator. `where` holds no password. */
export function redisOpenFailure(failure: unknown, where: string): unknown {
  if (failure instanceof ConfigError) return failure
  const error = lastNodeError(failure)
  const word = replyWord(error)
  if (word !== null && REFUSALS.includes(word)) {
    const message = `Redis at ${where} rejects the credentials (${word}): check the user and the password in STORE_URL`
    return new ConfigError([{ path: 'STORE_URL', message }])
  }
  const reason = error instanceof Error ? error.message : String(error)
  const message = `Redis at ${where} cannot be used (${reason}): start it, or correct STORE_URL`
  return new EntrepotError('unavailable', message, { cause: error })
}

const REFUSALS = ['WRONGPASS', 'NOAUTH', 'NOPERM']

const lastNodeError = (error: unknown): unknown =>
  error instanceof Error && 'lastNodeError' in error ? (error.lastNodeError ?? error) : error

const NEEDED = [
  {
    setting: 'appendonly',
    values: ['yes'],
    loss: 'everything written since the last snapshot is lost when Redis stops',
  },
  {
    setting: 'appendfsync',
    values: ['everysec', 'always'],
    loss: 'up to half a minute of acknowledged writes is lost when the machine stops',
  },
  {
    setting: 'maxmemory-policy',
    values: ['noeviction'],
    loss: 'Redis drops listings, keys or used signatures when its memory is full',
  },
] as const

/** Policies that evict only keys with an expiry. No key of the store has one, but cached Readings and counters have. */
const EVICTS_EXPIRING = 'volatile-'

async function durabilityWarnings(client: Client): Promise<string[]> {
  const nodes = client instanceof Redis ? [client] : client.nodes('master')
  return (await Promise.all(nodes.map(warningsOf))).flat()
}

async function warningsOf(node: Redis): Promise<string[]> {
  const { host, port, sentinels } = node.options
  const where = `Redis at ${sentinels ? `${node.stream.remoteAddress}:${node.stream.remotePort}` : `${host}:${port}`}`
  try {
    const replies = await Promise.all(NEEDED.map(({ setting }) => node.config('GET', setting)))
    return NEEDED.flatMap(({ setting, values, loss }, n) => {
      const value = settingOf(replies[n])
      if (values.some((needed) => needed === value) || value.startsWith(EVICTS_EXPIRING)) return []
      return [`${where} has ${setting} ${value}: ${loss}. Set it to ${values.join(' or ')}.`]
    })
  } catch {
    // Hosted services deny CONFIG, with various errors.
    const settings = NEEDED.map(({ setting, values }) => `${setting} ${values.join(' or ')}`).join(', ')
    return [
      `${where} does not show its settings. Set ${settings}; otherwise acknowledged writes can be lost.`,
    ]
  }
}

const settingOf = (reply: unknown): string =>
  Array.isArray(reply) && typeof reply[1] === 'string' ? reply[1] : 'unknown'

export type RedisCounters = { client: Client; prefix: string; close: () => void }

/** Over its own connection, so that counts do not wait for long reads. Until it connects, processes count alone. */
export async function openRedisCounters(url: string): Promise<RedisCounters> {
  const client = counterClient(url)
  await connected(client).catch(() => {})
  return { client, prefix: KEY_PREFIX, close: () => client.disconnect() }
}
