import type { ApiKey } from '../../domain/api-key.ts'
import type { AuditBounds, AuditEntry, NewAuditEntry } from '../../domain/audit.ts'
import type { Block, NewBlock } from '../../domain/block.ts'
import {
  frameBytes,
  LISTING_FIELDS,
  type ListingStatus,
  MAX_LISTING_BYTES,
  NEW_LISTING_FIELDS,
} from '../../domain/listing.ts'
import { activeUntil, type Publisher, type Rotation, retired, rotated } from '../../domain/publisher.ts'
import type { Micros } from '../../domain/timestamp.ts'
import {
  type ChangelogPosition,
  type Expected,
  isWriteRequest,
  LEASE_MICROS,
  type LoadVisitor,
  type NewKey,
  type PublishCommand,
  type PublishOutcome,
  type RecordedAnswer,
  type RemoveCommand,
  type RemoveOutcome,
  type Reservation,
  type RetireCommand,
  type RetireOutcome,
  type RotateCommand,
  type RotateOutcome,
  requireLaterUses,
  SIGNATURE_SHARED_MICROS,
  type SignedOperation,
  type SpentSignature,
  type Store,
  StoreUnavailable,
  storeClosed,
  type UpdateCommand,
  type UpdateOutcome,
  type Use,
  type UseKey,
  type WriteRequest,
} from '../store.ts'
import { RedisAudit } from './audit.ts'
import { type Client, connected, loadClient } from './connection.ts'
import { RedisFeed } from './feed.ts'
import { StreamFollower } from './follower.ts'
import { loadAll, readChanges } from './reads.ts'
import { apiKeyFromRow, blockFromRow, fieldText, identityText, publisherFromRow, SEPARATOR } from './rows.ts'
import { RedisSession, type ScriptArguments } from './session.ts'

/** An absent value: no word and no JSON text is empty. */
const KEEP = ''

const FIELDS = Object.values(LISTING_FIELDS)

/** The body of a write of the signed line in `commands.lua`. */
const REQUEST = ''

const MAX_SPENT_PER_WRITE = 100
/** Each failed try means that another write succeeded. */
const MAX_REBINDS = 20
const READ_PAGE = 1000

export class RedisStore implements Store {
  readonly #url: string
  readonly #session: RedisSession
  readonly #spentSignatures: number
  readonly #loadClients = new Set<Client>()
  readonly feed: RedisFeed
  readonly #audit: RedisAudit
  readonly #listeners = new Set<() => void>()
  readonly #feedListeners = new Set<() => void>()
  #follower: StreamFollower | undefined

  constructor(url: string, session: RedisSession, spentSignatures: number) {
    this.#url = url
    this.#session = session
    this.#spentSignatures = spentSignatures
    this.feed = new RedisFeed(session, (notify) => this.#listen(this.#feedListeners, notify))
    this.#audit = new RedisAudit(session)
    session.client.on('ready', () => {
      this.#follower?.reconnect()
      // Listeners can read what they missed while Redis was away.
      for (const listener of [...this.#listeners, ...this.#feedListeners]) listener()
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

  async reserve(request: WriteRequest): Promise<Reservation> {
    const { requestKey, hash, expiresAt, now } = request
    const [answer] = await Promise.all([
      this.#session.call(
        'reserve',
        [requestKey, hash, expiresAt, now, LEASE_MICROS],
        [this.#session.useKey(requestKey)],
      ),
      this.#spendExpired(request),
    ])
    const [outcome, recorded = ''] = answer as [Reservation['outcome'], string?]
    return outcome === 'answered' ? { outcome, answer: JSON.parse(recorded) } : { outcome }
  }

  async settle({ requestKey }: WriteRequest, answer: RecordedAnswer | null): Promise<void> {
    const text = answer === null ? KEEP : JSON.stringify(answer)
    await this.#session.call('settle', [text], [this.#session.useKey(requestKey)])
  }

  rotate({ publisherId, intent, use }: RotateCommand): Promise<RotateOutcome> {
    return this.#rebind(publisherId, use, (publisher) =>
      publisher === null ? { outcome: 'publisher_not_found' } : rotated(publisher, intent, use.now),
    )
  }

  retire({ publisherId, nonce, identity, use }: RetireCommand): Promise<RetireOutcome> {
    return this.#rebind(publisherId, use, (publisher) =>
      publisher === null
        ? { outcome: 'rotation_not_found' }
        : retired(publisher, { nonce, identity }, use.now),
    ) as Promise<RetireOutcome>
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

  async replaceKey(id: number, endsAt: Micros, key: NewKey): Promise<ApiKey | null> {
    const added = await this.#session.call('replace_key', [id, endsAt, ...keyFields(key)])
    return Array.isArray(added) ? apiKeyFromRow(added[0], added[1]) : null
  }

  async revokeKey(id: number): Promise<ApiKey | null> {
    const row = await this.#session.call('revoke_key', [id])
    return row === null ? null : apiKeyFromRow(String(id), String(row))
  }

  async addBlock({ until, ...content }: NewBlock): Promise<Block> {
    const added = await this.#session.call('add_block', [JSON.stringify(until), JSON.stringify(content)])
    const [id, row] = added as [string, string]
    return blockFromRow(id, row)
  }

  async endBlock(id: number, onlyIfDue = false): Promise<Block | null> {
    const row = await this.#session.call('end_block', [id, Number(onlyIfDue)])
    return row === null ? null : blockFromRow(String(id), String(row))
  }

  appendAudit(entry: NewAuditEntry, bounds: AuditBounds): Promise<AuditEntry> {
    return this.#audit.append(entry, bounds)
  }

  readAudit(since: Micros | null, limit: number): Promise<AuditEntry[]> {
    return this.#audit.read(since, limit)
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
    return this.#listen(this.#listeners, notify)
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
  async #mutate(operation: SignedOperation, use: Use, args: ScriptArguments): Promise<string[]> {
    const [signature, body] = isWriteRequest(use) ? [use.requestKey, REQUEST] : [use.signature, use.body]
    const all = [signature, body, use.expiresAt, use.now, ...args]
    const [answer] = await Promise.all([
      this.#session.call(operation, all, [this.#session.useKey(signature)]),
      this.#spendExpired(use),
    ])
    return String(answer).split(SEPARATOR)
  }

  /** The rules are those of SQLite, so they are applied here: to the row that is replaced only if it is still the same. */
  async #rebind<Refusal extends { outcome: string }>(
    publisherId: number,
    { requestKey }: WriteRequest,
    plan: (
      publisher: Publisher | null,
    ) => { outcome: 'changed'; publisher: Publisher; rotation: Rotation } | Refusal,
  ): Promise<Exclude<Refusal, { outcome: 'changed' }> | RotateOutcome> {
    const { client, keys } = this.#session
    const useKey = this.#session.useKey(requestKey)
    for (let tries = 1; tries <= MAX_REBINDS; tries++) {
      const [row, receipt] = await this.#session.run(() =>
        Promise.all([client.hget(keys.publishers, String(publisherId)), client.hget(useKey, 'receipt')]),
      )
      if (receipt !== null) return { outcome: 'recorded', rotation: JSON.parse(receipt) }
      const result = plan(row === null ? null : publisherFromRow(String(publisherId), row))
      if (!('publisher' in result)) return result as Exclude<Refusal, { outcome: 'changed' }>
      const { publisher, rotation } = result
      const answer = await this.#session.call(
        'rebind',
        [
          publisherId,
          row!,
          identityText(rotation.current),
          activeUntil(rotation),
          identityText(publisher),
          JSON.stringify(publisher.rotations),
          JSON.stringify(rotation),
        ],
        [useKey],
      )
      if (answer === 'bound') return { outcome: 'bound' }
      if (answer !== 'changed') return { outcome: 'recorded', rotation: JSON.parse(String(answer)) }
    }
    throw new StoreUnavailable('the publisher changes faster than it can be written')
  }

  async #spendExpired({ now }: Pick<Use, 'now'>): Promise<void> {
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

  async #insertKey(key: NewKey, { onlyFirst }: { onlyFirst: boolean }): Promise<ApiKey | null> {
    const added = await this.#session.call('add_key', [Number(onlyFirst), ...keyFields(key)])
    return Array.isArray(added) ? apiKeyFromRow(added[0], added[1]) : null
  }

  #listen(listeners: Set<() => void>, notify: () => void): () => void {
    // Makes subscriptions of the same function distinct.
    const listener = () => notify()
    listeners.add(listener)
    const { closed, keys, feedKeys } = this.#session
    if (!closed)
      this.#follower ??= new StreamFollower(this.#url, [keys.log, feedKeys.log], (stream) => {
        for (const one of stream === keys.log ? this.#listeners : this.#feedListeners) one()
      })
    return () => {
      listeners.delete(listener)
    }
  }
}

const pairs = (values: readonly string[]): SpentSignature[] =>
  Array.from({ length: values.length / 2 }, (_, n) => ({
    signature: values[2 * n]!,
    expiresAt: Number(values[2 * n + 1]),
  }))

const textOrKeep = (json: string | undefined): string => (json === undefined ? KEEP : fieldText(json))

const expectedText = (expected: Expected): string => (expected === null ? 'none' : String(expected ?? ''))

function keyFields({ name, scope, hash, expiresAt, view = null }: NewKey): string[] {
  return [JSON.stringify(name), scope, ...[hash, expiresAt, view].map((one) => JSON.stringify(one))]
}
