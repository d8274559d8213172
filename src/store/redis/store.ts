import type { ApiKey } from '../../domain/api-key.ts'
import {
  frameBytes,
  LISTING_FIELDS,
  type ListingStatus,
  MAX_LISTING_BYTES,
  NEW_LISTING_FIELDS,
} from '../../domain/listing.ts'
import type { Micros } from '../../domain/timestamp.ts'
import {
  type ChangelogPosition,
  type Expected,
  type LoadVisitor,
  type NewKey,
  type PublishCommand,
  type PublishOutcome,
  type RemoveCommand,
  type RemoveOutcome,
  requireLaterUses,
  SIGNATURE_SHARED_MICROS,
  type SignedOperation,
  type SpentSignature,
  type Store,
  storeClosed,
  type UpdateCommand,
  type UpdateOutcome,
  type UsedSignature,
  type UseKey,
} from '../store.ts'
import { type Client, connected, loadClient } from './connection.ts'
import { ChangelogFollower } from './follower.ts'
import { loadAll, readChanges } from './reads.ts'
import { apiKeyFromRow, fieldText, identityText, SEPARATOR } from './rows.ts'
import { RedisSession, type ScriptArguments } from './session.ts'

/** An absent value: no word and no JSON text is empty. */
const KEEP = ''

const FIELDS = Object.values(LISTING_FIELDS)

const MAX_SPENT_PER_WRITE = 100
const READ_PAGE = 1000

export class RedisStore implements Store {
  readonly #url: string
  readonly #session: RedisSession
  readonly #spentSignatures: number
  readonly #loadClients = new Set<Client>()
  readonly #listeners = new Set<() => void>()
  #follower: ChangelogFollower | undefined

  constructor(url: string, session: RedisSession, spentSignatures: number) {
    this.#url = url
    this.#session = session
    this.#spentSignatures = spentSignatures
    session.client.on('ready', () => {
      this.#follower?.reconnect()
      this.#notify() // listeners can read what they missed while Redis was away
    })
  }

  async publish(command: PublishCommand): Promise<PublishOutcome> {
    const { identity, listingId, storefrontUrl, fields, status, expected, maxListings, keyId, use } = command
    const answer = await this.#mutate('publish', use, [
      identityText(identity),
      listingId,
      JSON.stringify(storefrontUrl),
      status ?? KEEP,
      expectedText(expected),
      maxListings,
      frameBytes(listingId),
      MAX_LISTING_BYTES,
      use.now,
      String(keyId),
      SIGNATURE_SHARED_MICROS,
      ...FIELDS.map((field) => textOrKeep(fields[field])),
      ...FIELDS.map((field) => NEW_LISTING_FIELDS[field]),
    ])
    const [outcome, publisherId, newStatus, createdAt, updatedAt] = answer
    if (outcome !== 'published') return { outcome } as PublishOutcome
    const record = {
      listingId,
      publisherId: Number(publisherId),
      status: newStatus as ListingStatus,
      createdAt: Number(createdAt),
      updatedAt: Number(updatedAt),
    }
    return { outcome, record }
  }

  async update(command: UpdateCommand): Promise<UpdateOutcome> {
    const { identity, listingId, status, oracleAddress, expected, use } = command
    const [outcome, newStatus, updatedAt] = await this.#mutate('update', use, [
      identityText(identity),
      listingId,
      status ?? KEEP,
      textOrKeep(oracleAddress),
      expectedText(expected),
      frameBytes(listingId),
      MAX_LISTING_BYTES,
    ])
    if (outcome !== 'updated') return { outcome } as UpdateOutcome
    const record = { listingId, status: newStatus as ListingStatus, updatedAt: Number(updatedAt) }
    return { outcome, record }
  }

  async remove({ identity, listingId, use }: RemoveCommand): Promise<RemoveOutcome> {
    const [outcome] = await this.#mutate('remove', use, [identityText(identity), listingId])
    return { outcome } as RemoveOutcome
  }

  async hasUse({ signature, operation, listingId }: UseKey): Promise<boolean> {
    const { client } = this.#session
    const field = [operation, listingId].join(SEPARATOR)
    return (await this.#session.run(() => client.hexists(this.#session.useKey(signature), field))) === 1
  }

  /** Those that are spent meanwhile move to the set that is read last. */
  async *usedSignatures(after: Micros): AsyncGenerator<SpentSignature[]> {
    const { client, keys } = this.#session
    for (const key of [keys.useExpiry, keys.spent])
      for (let offset = 0; ; offset += READ_PAGE) {
        // From the last on, since the first are removed meanwhile.
        const read = await this.#session.run(() =>
          client.zrevrangebyscore(key, '+inf', `(${after}`, 'WITHSCORES', 'LIMIT', offset, READ_PAGE),
        )
        if (read.length === 0) break
        yield pairs(read)
      }
  }

  async latestDropped(): Promise<Micros> {
    const { client, keys } = this.#session
    return Number(await this.#session.run(() => client.get(keys.forgottenUse)))
  }

  async addKey(key: NewKey): Promise<ApiKey> {
    return (await this.#insertKey(key, { onlyFirst: false }))!
  }

  seedKey(key: NewKey): Promise<ApiKey | null> {
    return this.#insertKey(key, { onlyFirst: true })
  }

  async revokeKey(id: number): Promise<ApiKey | null> {
    const row = await this.#session.call('revoke_key', [id])
    return row === null ? null : apiKeyFromRow(String(id), String(row))
  }

  /** Over its own connection: other commands have a short deadline and would wait for the pages. */
  async load(visitor: LoadVisitor): Promise<ChangelogPosition> {
    const { closed, prefix, changelogLength } = this.#session
    if (closed) throw storeClosed()
    const client = loadClient(this.#url)
    this.#loadClients.add(client)
    try {
      const session = new RedisSession(client, prefix, changelogLength)
      await session.run(() => connected(client))
      return await loadAll(session, visitor)
    } finally {
      this.#loadClients.delete(client)
      client.disconnect()
    }
  }

  async changesAfter(position: ChangelogPosition, limit: number) {
    const read = await readChanges(this.#session, position, limit)
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
    const write = this.#session.run(() => client.set(keys.ping, '', 'PX', 1000))
    const [latestDropped] = await Promise.all([this.latestDropped(), write])
    requireLaterUses(latestDropped)
  }

  close(): Promise<void> {
    this.#follower?.stop()
    for (const client of this.#loadClients) client.disconnect()
    return this.#session.close()
  }

  /** Forgets expired uses apart from the mutation, which Redis rejects when out of memory. */
  async #mutate(operation: SignedOperation, use: UsedSignature, args: ScriptArguments): Promise<string[]> {
    const { signature, body, expiresAt } = use
    const [answer] = await Promise.all([
      this.#session.call(operation, [signature, body, expiresAt, ...args], [this.#session.useKey(signature)]),
      this.#spendExpired(use),
    ])
    return String(answer).split(SEPARATOR)
  }

  async #spendExpired({ now }: UsedSignature): Promise<void> {
    const session = this.#session
    try {
      const expired = await session.run(() =>
        session.client.zrangebyscore(session.keys.useExpiry, '-inf', now, 'LIMIT', 0, MAX_SPENT_PER_WRITE),
      )
      if (expired.length > 0)
        await session.call(
          'spend',
          [this.#spentSignatures, ...expired],
          expired.map((signature) => session.useKey(signature)),
        )
    } catch {
      // The next mutation tries again.
    }
  }

  async #insertKey(
    { name, scope, hash, expiresAt }: NewKey,
    { onlyFirst }: { onlyFirst: boolean },
  ): Promise<ApiKey | null> {
    const row = [JSON.stringify(name), scope, JSON.stringify(hash), JSON.stringify(expiresAt)]
    const added = await this.#session.call('add_key', [Number(onlyFirst), ...row])
    return Array.isArray(added) ? apiKeyFromRow(added[0], added[1]) : null
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}

const pairs = (values: readonly string[]): SpentSignature[] =>
  Array.from({ length: values.length / 2 }, (_, n) => ({
    signature: values[2 * n]!,
    expiresAt: Number(values[2 * n + 1]),
  }))

const textOrKeep = (json: string | undefined): string => (json === undefined ? KEEP : fieldText(json))

const expectedText = (expected: Expected): string => (expected === null ? 'none' : String(expected ?? ''))
