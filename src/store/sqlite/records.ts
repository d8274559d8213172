import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { ApiKey, KeyScope, KeyUse } from '../../domain/api-key.ts'
import {
  FIELD_END,
  fieldsOf,
  LISTING_END,
  type ListingRecord,
  type ListingStatus,
  type PackedListings,
  type Publisher,
} from '../../domain/listing.ts'
import type { Micros } from '../../domain/timestamp.ts'
import type { NewKey, PublisherIdentity } from '../store.ts'

export class SqliteRecords {
  readonly #statements: ReturnType<typeof prepareAll>

  constructor(database: DatabaseSync) {
    this.#statements = prepareAll(database)
  }

  publisher(id: number): Publisher | null {
    return first(this.#statements.publisher, publisherAt, id)
  }

  publisherOf({ scheme, identifier }: PublisherIdentity): Publisher | null {
    return first(this.#statements.publisherOf, publisherAt, scheme, identifier)
  }

  nextPublisherId(): number {
    return Number(this.#statements.nextPublisherId.get()?.[0])
  }

  addPublisher({ scheme, identifier }: PublisherIdentity, storefrontUrl: string | null, at: Micros): number {
    return Number(
      this.#statements.addPublisher.run(scheme, identifier, storefrontUrl, at, at).lastInsertRowid,
    )
  }

  moveStorefront(publisherId: number, storefrontUrl: string, at: Micros): void {
    this.#statements.moveStorefront.run(storefrontUrl, at, publisherId)
  }

  countListings(publisherId: number, most: number): number {
    return Number(this.#statements.countListings.get(publisherId, most)?.[0])
  }

  listing(listingId: string): ListingRecord | null {
    return first(this.#statements.listing, listingAt, listingId)
  }

  putListing(record: ListingRecord): void {
    this.#statements.putListing.run(...fieldsOf(record))
  }

  removeListing(createdAt: Micros): void {
    this.#statements.removeListing.run(createdAt)
  }

  key(id: number): ApiKey | null {
    return first(this.#statements.key, apiKeyAt, id)
  }

  hasKeys(): boolean {
    return this.#statements.anyKey.get() !== undefined
  }

  addKey({ name, scope, hash, expiresAt }: NewKey, at: Micros): number {
    return Number(this.#statements.addKey.run(name, scope, hash, at, expiresAt).lastInsertRowid)
  }

  revokeKey(id: number, at: Micros): void {
    this.#statements.revokeKey.run(at, id)
  }

  addKeyUse({ keyId, calls, lastUsedAt }: KeyUse): void {
    this.#statements.addKeyUse.run(keyId, calls, lastUsedAt)
  }

  keyUses(): KeyUse[] {
    return this.#statements.keyUses.all().map((row: SqliteRow) => ({
      keyId: row[0] as number,
      calls: row[1] as number,
      lastUsedAt: row[2] as number,
    }))
  }

  keysAfter(after: number, limit: number): ApiKey[] {
    return this.#statements.keysAfter.all(after, limit).map((row) => apiKeyAt(row))
  }

  publishersAfter(after: number, limit: number): Publisher[] {
    return this.#statements.publishersAfter.all(after, limit).map((row) => publisherAt(row))
  }

  listingsBetween(after: Micros, last: Micros, limit: number): { page: PackedListings; last: Micros } {
    const row: SqliteRow = this.#statements.listingsBetween.get(after, last, limit)!
    const bytes = row[1] as Uint8Array<ArrayBuffer> | null
    return {
      page: { count: row[0] as number, bytes: bytes ?? new Uint8Array() },
      last: row[2] as Micros,
    }
  }
}

function first<T>(
  statement: StatementSync,
  read: (row: SqliteRow) => T,
  ...keys: (string | number)[]
): T | null {
  const row = statement.get(...keys)
  return row === undefined ? null : read(row)
}

function prepareAll(database: DatabaseSync) {
  const prepare = (sql: string): StatementSync => prepareArrays(database, sql)
  return {
    publisher: prepare(`SELECT ${PUBLISHER_COLUMNS} FROM publisher WHERE publisher_id = ?`),
    publisherOf: prepare(`SELECT ${PUBLISHER_COLUMNS} FROM publisher WHERE scheme = ? AND identifier = ?`),
    nextPublisherId: prepare('SELECT coalesce(max(publisher_id), 0) + 1 FROM publisher'),
    addPublisher: prepare(
      'INSERT INTO publisher (scheme, identifier, storefront_url, created_at, updated_at) VALUES (?, ?, ?, ?, ?)',
    ),
    moveStorefront: prepare('UPDATE publisher SET storefront_url = ?, updated_at = ? WHERE publisher_id = ?'),
    countListings: prepare('SELECT count(*) FROM (SELECT 1 FROM listing WHERE publisher_id = ? LIMIT ?)'),
    listing: prepare(`SELECT ${LISTING_COLUMNS} FROM listing WHERE listing_id = ?`),
    putListing: prepare(`INSERT INTO listing (${LISTING_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (created_at) DO UPDATE SET status = excluded.status, updated_at = excluded.updated_at,
        offer_resource = excluded.offer_resource, accepted_escrows = excluded.accepted_escrows,
        demands = excluded.demands, max_duration_seconds = excluded.max_duration_seconds,
        oracle_address = excluded.oracle_address`),
    removeListing: prepare('DELETE FROM listing WHERE created_at = ?'),
    key: prepare(`SELECT ${KEY_COLUMNS} FROM api_key WHERE id = ?`),
    anyKey: prepare('SELECT 1 FROM api_key LIMIT 1'),
    addKey: prepare('INSERT INTO api_key (name, scope, hash, created_at, expires_at) VALUES (?, ?, ?, ?, ?)'),
    revokeKey: prepare('UPDATE api_key SET revoked_at = ? WHERE id = ?'),
    addKeyUse: prepare(`INSERT INTO key_use (key_id, calls, last_used_at) VALUES (?, ?, ?)
      ON CONFLICT (key_id) DO UPDATE SET calls = calls + excluded.calls,
        last_used_at = max(last_used_at, excluded.last_used_at)`),
    keyUses: prepare('SELECT key_id, calls, last_used_at FROM key_use'),
    keysAfter: prepare(`SELECT ${KEY_COLUMNS} FROM api_key WHERE id > ? ORDER BY id LIMIT ?`),
    publishersAfter: prepare(
      `SELECT ${PUBLISHER_COLUMNS} FROM publisher WHERE publisher_id > ? ORDER BY publisher_id LIMIT ?`,
    ),
    listingsBetween: prepare(PACKED_LISTINGS),
  }
}

/** Takes half the time of a row with names, which counts where every listing is read. */
export type SqliteRow = Record<number, SQLOutputValue>

/** Node 22 lacks this as an option of `prepare`. */
export function prepareArrays(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql)
  statement.setReturnArrays(true)
  return statement
}

export const LISTING_COLUMNS =
  'listing_id, publisher_id, status, created_at, updated_at, ' +
  'offer_resource, accepted_escrows, demands, max_duration_seconds, oracle_address'

export const listingAt = (row: SqliteRow, first = 0): ListingRecord => ({
  listingId: row[first] as string,
  publisherId: row[first + 1] as number,
  status: row[first + 2] as ListingStatus,
  createdAt: row[first + 3] as number,
  updatedAt: row[first + 4] as number,
  offerResource: row[first + 5] as string,
  acceptedEscrows: row[first + 6] as string,
  demands: row[first + 7] as string,
  maxDurationSeconds: row[first + 8] as string,
  oracleAddress: row[first + 9] as string,
})

/** SQLite joins the texts: strings would double the time, and so would an order in `group_concat`. */
const PACKED_LISTINGS = `
SELECT count(*), CAST(group_concat(packed, '') AS BLOB), max(created_at) FROM (
  SELECT created_at, concat_ws(char(${FIELD_END}), ${LISTING_COLUMNS}) || char(${LISTING_END}) AS packed
  FROM listing WHERE created_at > ? AND created_at <= ? ORDER BY created_at LIMIT ?
)`

export const PUBLISHER_COLUMNS = 'publisher_id, scheme, identifier, storefront_url, created_at, updated_at'

const publisherAt = (row: SqliteRow): Publisher => ({
  publisherId: row[0] as number,
  scheme: row[1] as string,
  identifier: row[2] as string,
  storefrontUrl: row[3] as string | null,
  createdAt: row[4] as number,
  updatedAt: row[5] as number,
})

export const KEY_COLUMNS = 'id, name, scope, hash, created_at, revoked_at, expires_at'

const apiKeyAt = (row: SqliteRow): ApiKey => ({
  id: row[0] as number,
  name: row[1] as string,
  scope: row[2] as KeyScope,
  hash: row[3] as string,
  createdAt: row[4] as number,
  revokedAt: row[5] as number | null,
  expiresAt: row[6] as number | null,
})
