import type { ApiKey } from '../../domain/api-key.ts'
import {
  type ChangelogPosition,
  type LoadVisitor,
  type NewKey,
  type PublishCommand,
  type PublishOutcome,
  type RemoveCommand,
  type RemoveOutcome,
  type Store,
  storeClosed,
  type UpdateCommand,
  type UpdateOutcome,
  type UseKey,
} from '../store.ts'
import { type Client, connected, loadClient } from './connection.ts'
import { ChangelogFollower } from './follower.ts'
import * as mutations from './mutations.ts'
import * as reads from './reads.ts'
import { RedisSession } from './session.ts'

export class RedisStore implements Store {
  readonly #url: string
  readonly #session: RedisSession
  readonly #loadClients = new Set<Client>()
  readonly #listeners = new Set<() => void>()
  #follower: ChangelogFollower | undefined

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
  async load(visitor: LoadVisitor): Promise<ChangelogPosition> {
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

  async changesAfter(position: ChangelogPosition, limit: number) {
    const read = await reads.changesAfter(this.#session, position, limit)
    if (read === 'lost') this.#follower?.reconnect()
    return read
  }

  onChange(notify: () => void): () => void {
    // Makes subscriptions of the same function distinct.
    const listener = () => notify()
    this.#listeners.add(listener)
    if (!this.#session.closed)
      this.#follower ??= new ChangelogFollower(this.#url, this.#session.keys.log, () => this.#notify())
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
