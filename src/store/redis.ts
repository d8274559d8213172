import type { ApiKey } from '../domain/api-key.ts'
import { ConfigError } from '../errors.ts'
import { storeClosed } from './failures.ts'
import { type Client, commandClient, connected, loadClient, placeOf } from './redis-connection.ts'
import { durabilityWarnings } from './redis-durability.ts'
import { openFailure } from './redis-errors.ts'
import { RedisFollower } from './redis-follower.ts'
import * as mutations from './redis-mutations.ts'
import * as reads from './redis-reads.ts'
import { keysUnder, PREFIX, RedisSession } from './redis-session.ts'
import type {
  LoadVisitor,
  NewKey,
  Position,
  PublishCommand,
  PublishOutcome,
  RemoveCommand,
  RemoveOutcome,
  Store,
  UpdateCommand,
  UpdateOutcome,
  UseKey,
} from './store.ts'

type RedisStoreOptions = {
  /** With braces that keep all keys in one slot of a Cluster. Default `PREFIX`. */
  prefix?: string
  /** Entries kept at least. Default 100,000; readers further behind load again. */
  changelogLength?: number
}

const FORMAT = 1
const CHANGELOG_LENGTH = 100_000

/**
 * A store in Redis 6.2 or newer, or Valkey. While Redis is away every call rejects at once with
 * `unavailable`. With `appendfsync everysec` the last second of acknowledged writes can be lost; `warnings`
 * names worse settings.
 * @throws ConfigError for a URL, a password or a layout of keys that cannot be used
 * @throws EntrepotError `unavailable` where Redis cannot be reached
 */
export async function openRedisStore(
  url: string,
  options: RedisStoreOptions = {},
): Promise<{ store: Store; warnings: string[] }> {
  const { prefix = PREFIX, changelogLength = CHANGELOG_LENGTH } = options
  const session = new RedisSession(commandClient(url), keysUnder(prefix), changelogLength)
  try {
    await connected(session.client)
    await checkFormat(session, placeOf(url))
    await mutations.countListings(session)
    const warnings = await durabilityWarnings(session.client)
    return { store: new RedisStore(url, session), warnings }
  } catch (error) {
    session.client.disconnect()
    throw openFailure(error, placeOf(url))
  }
}

async function checkFormat({ client, keys }: RedisSession, where: string): Promise<void> {
  await client.setnx(keys.format, FORMAT)
  const format = Number(await client.get(keys.format))
  if (format <= FORMAT) return
  const message =
    `Redis at ${where} was written by a newer entrepot (format ${format}, this one reads up to ${FORMAT}): ` +
    'run that version again, or point STORE_URL at another Redis'
  throw new ConfigError([{ path: 'STORE_URL', message }])
}

class RedisStore implements Store {
  readonly #url: string
  readonly #session: RedisSession
  readonly #loadClients = new Set<Client>()
  readonly #listeners = new Set<() => void>()
  #follower: RedisFollower | undefined

  constructor(url: string, session: RedisSession) {
    this.#url = url
    this.#session = session
    session.client.on('ready', () => {
      this.#follower?.reconnect()
      this.#notify() // listeners can read what they missed while Redis was away
    })
  }

  publish(command: PublishCommand): Promise<PublishOutcome> {
    return mutations.publish(this.#session, command)
  }

  update(command: UpdateCommand): Promise<UpdateOutcome> {
    return mutations.update(this.#session, command)
  }

  remove(command: RemoveCommand): Promise<RemoveOutcome> {
    return mutations.remove(this.#session, command)
  }

  hasUse(key: UseKey): Promise<boolean> {
    return mutations.hasUse(this.#session, key)
  }

  addKey(key: NewKey): Promise<ApiKey> {
    return mutations.addKey(this.#session, key)
  }

  seedKey(key: NewKey): Promise<ApiKey | null> {
    return mutations.seedKey(this.#session, key)
  }

  revokeKey(id: number): Promise<ApiKey | null> {
    return mutations.revokeKey(this.#session, id)
  }

  /** Over its own connection: other commands have a short deadline and would wait behind the pages. */
  async load(visitor: LoadVisitor): Promise<Position> {
    const { closed, keys, changelogLength } = this.#session
    if (closed) throw storeClosed()
    const client = loadClient(this.#url)
    this.#loadClients.add(client)
    try {
      const session = new RedisSession(client, keys, changelogLength)
      await session.run(() => connected(client))
      return await reads.load(session, visitor)
    } finally {
      this.#loadClients.delete(client)
      client.disconnect()
    }
  }

  async changesAfter(position: Position, limit: number) {
    const read = await reads.changesAfter(this.#session, position, limit)
    if (read === 'lost') this.#follower?.reconnect()
    return read
  }

  onChange(notify: () => void): () => void {
    // Makes subscriptions of the same function distinct.
    const listener = () => notify()
    this.#listeners.add(listener)
    if (!this.#session.closed)
      this.#follower ??= new RedisFollower(this.#url, this.#session.keys.log, () => this.#notify())
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Writes: a read would succeed on a replica, or with a full disk or memory. */
  async ping(): Promise<void> {
    const { client, keys } = this.#session
    await this.#session.run(() => client.set(keys.ping, '', 'PX', 1000))
  }

  close(): Promise<void> {
    this.#follower?.stop()
    for (const client of this.#loadClients) client.disconnect()
    return this.#session.close()
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}
