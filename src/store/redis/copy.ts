import { randomUUID } from 'node:crypto'
import type { ChainableCommander } from 'ioredis'
import type { AuditEntry } from '../../domain/audit.ts'
import { plural } from '../../domain/plural.ts'
import { redactCredentials } from '../../domain/safe-text.ts'
import type { Micros } from '../../domain/timestamp.ts'
import { ConfigError, EntrepotError } from '../../errors.ts'
import type { CopySource, CopyTarget } from '../copy.ts'
import { auditBytes, type Change, type SpentSignature } from '../store.ts'
import { connected, loadClient } from './connection.ts'
import { openRedisStore, redisOpenFailure } from './open.ts'
import { apiKeyRow, blockRow, identityText, listingRow, publisherRow, replacedRow } from './rows.ts'
import { KEY_PREFIX, keysUnder, RedisSession, redisFailure } from './session.ts'

/** @throws ConfigError if there is a store already, and as `openRedisStore` does */
export async function createRedisCopy(url: string, prefix: string = KEY_PREFIX): Promise<CopyTarget> {
  const copy = new RedisCopy(url, prefix)
  try {
    await copy.open()
    return copy
  } catch (error) {
    await copy.close()
    throw redisOpenFailure(error, redactCredentials(url))
  }
}

/** Is written to keys of its own, in the hash slot of the store's. One that is not finished is deleted by the next. */
class RedisCopy implements CopyTarget {
  readonly #url: string
  readonly #prefix: string
  readonly #id = randomUUID()
  readonly #session: RedisSession
  /** The store's, over the same connection. */
  readonly #storeSession: RedisSession
  #rows: ChainableCommander
  /** Publisher's id by listing. Counted here: in Redis that takes seconds for a million listings. */
  readonly #owners = new Map<string, number>()
  /** Of the entries of each kind. */
  readonly #auditBytes = new Map<string, number>()

  constructor(url: string, prefix: string) {
    this.#url = url
    this.#prefix = prefix
    this.#session = new RedisSession(loadClient(url), staged(prefix, this.#id), 0)
    this.#storeSession = new RedisSession(this.#session.client, prefix, 0)
    this.#rows = this.#session.client.pipeline()
  }

  async open(): Promise<void> {
    const { client } = this.#session
    await connected(client)
    const { listings, publishers, apiKeys, blocks } = this.#storeSession.keys
    const nouns = { listing: listings, publisher: publishers, 'API key': apiKeys, block: blocks }
    const counts = await Promise.all(
      Object.entries(nouns).map(async ([noun, key]) => ({ noun, count: await client.hlen(key) })),
    )
    if (counts.some(({ count }) => count > 0))
      throw this.#occupied(counts.map(({ noun, count }) => plural(count, noun)).join(', '))
    const other = await client.getset(latestOf(this.#prefix), this.#id)
    if (other !== null) await client.unlink(...Object.values(keysUnder(staged(this.#prefix, other))))
  }

  put(change: Change): void {
    const { listings, created, publishers, publisherIds, replacedIdentities, apiKeys } = this.#session.keys
    if (change.kind === 'listing') {
      const { listingId, publisherId, createdAt } = change.record
      this.#owners.set(listingId, publisherId)
      this.#rows.hset(listings, listingId, listingRow(change.record)).zadd(created, createdAt, listingId)
    } else if (change.kind === 'listing_removed') {
      this.#owners.delete(change.listingId)
      this.#rows.hdel(listings, change.listingId).zrem(created, change.listingId)
    } else if (change.kind === 'publisher') {
      const { publisherId, rotations } = change.publisher
      this.#rows
        .hset(publishers, publisherId, publisherRow(change.publisher))
        .hset(publisherIds, identityText(change.publisher), publisherId)
      for (const rotation of rotations) {
        const former = identityText(rotation.current)
        this.#rows
          .hdel(publisherIds, former)
          .hset(replacedIdentities, former, replacedRow(publisherId, rotation))
      }
    } else if (change.kind === 'block') {
      this.#rows.hset(this.#session.keys.blocks, change.block.id, blockRow(change.block))
    } else {
      this.#rows.hset(apiKeys, change.key.id, apiKeyRow(change.key))
    }
  }

  putUsed({ signature, expiresAt }: SpentSignature): void {
    this.#rows.zadd(this.#session.keys.spent, expiresAt, signature)
  }

  putAudit(entry: AuditEntry): void {
    const { audit, sellerAudit } = this.#session.keys
    const { at, kind, ...rest } = entry
    const content = JSON.stringify(rest)
    const written = (this.#auditBytes.get(kind) ?? 0) + auditBytes(content)
    this.#auditBytes.set(kind, written)
    const stream = kind === 'operator' ? audit : sellerAudit
    this.#rows.xadd(stream, `${at}-0`, 'content', content, 'written', written)
  }

  async flush(): Promise<void> {
    const rows = this.#rows
    this.#rows = this.#session.client.pipeline()
    const answers = await this.#session.run(() => rows.exec())
    for (const [error] of answers ?? []) if (error !== null) throw redisFailure(error)
  }

  async seal(clock: Micros, latestDropped: Micros): Promise<CopySource> {
    const { log, forgottenUse: key, listingCounts } = this.#session.keys
    this.#rows.set(key, latestDropped)
    const counts = new Map<number, number>()
    for (const owner of this.#owners.values()) counts.set(owner, (counts.get(owner) ?? 0) + 1)
    for (const [owner, count] of counts) this.#rows.hset(listingCounts, owner, count)
    if (clock > 0) this.#rows.xadd(log, `${clock}-0`, 'start', '')
    await this.flush()
    return (await openRedisStore(this.#url, { prefix: staged(this.#prefix, this.#id) })).store
  }

  async publish(): Promise<void> {
    const keys = [latestOf(this.#prefix), ...Object.values(this.#session.keys)]
    const answer = await this.#storeSession.call('adopt', [this.#id], keys)
    if (answer === 'replaced')
      throw new EntrepotError(
        'unavailable',
        'another restore into this Redis began meanwhile; this one was deleted',
      )
    if (answer !== 'adopted') throw this.#occupied('what was written meanwhile')
    await this.#storeSession.client.unlink(...Object.values(this.#storeSession.feedKeys))
  }

  /** What it cannot delete, the next restore does. */
  async close(): Promise<void> {
    await this.#session.client.unlink(...Object.values(this.#session.keys)).catch(() => {})
    await this.#session.close()
  }

  #occupied(content: string): ConfigError {
    const where = redactCredentials(this.#url)
    const message =
      `Redis at ${where} holds ${content}: stop the service and point STORE_URL at another Redis, ` +
      `or delete its keys there: redis-cli --scan --pattern '${this.#prefix}*' | xargs redis-cli unlink`
    return new ConfigError([{ path: 'STORE_URL', message }])
  }
}

const staged = (prefix: string, id: string): string => `${prefix}restore:${id}:`

/** Of the id of the copy that began last: only that one is published. */
const latestOf = (prefix: string): string => `${prefix}restore`
