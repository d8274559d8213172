import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ApiKey } from '../../domain/api-key.ts'
import {
  type ListingRecord,
  MAX_LISTING_BYTES,
  NEW_LISTING_FIELDS,
  type Publisher,
  type PublishReceipt,
  rowBytes,
} from '../../domain/listing.ts'
import type { Micros } from '../../domain/timestamp.ts'
import type {
  Expected,
  NewKey,
  PublishCommand,
  PublisherIdentity,
  PublishOutcome,
  RemoveCommand,
  RemoveOutcome,
  SignedOperation,
  UpdateCommand,
  UpdateOutcome,
  UpdateReceipt,
  UsedSignature,
  UseKey,
} from '../store.ts'
import type { SqliteChangelog } from './changelog.ts'
import type { SqliteRecords } from './records.ts'

/**
 * Each member is one mutation in the caller's transaction. All check in this order before the first write: repeat of an
 * earlier use, `not_found`, `not_owner`, `signature_reused`, `changed`, `too_many_listings`, `too_large`.
 */
export class SqliteMutations {
  readonly #records: SqliteRecords
  readonly #changelog: SqliteChangelog
  readonly #guard: SqliteReplayGuard

  constructor(database: DatabaseSync, records: SqliteRecords, changelog: SqliteChangelog) {
    this.#records = records
    this.#changelog = changelog
    this.#guard = new SqliteReplayGuard(database)
  }

  publish(command: PublishCommand): PublishOutcome {
    const { identity, listingId, use } = command
    const { key, earlier, existing } = this.#find('publish', listingId, use)
    if (earlier?.body === use.body) {
      const record: PublishReceipt = JSON.parse(earlier.answer)
      return isUnchangedSince(existing, record) ? { outcome: 'published', record } : SIGNATURE_REUSED
    }
    const publisher = this.#records.publisherOf(identity)
    if (existing !== null && existing.publisherId !== publisher?.publisherId) return NOT_OWNER
    const boundUrl = this.#guard.storefrontOf(use.signature)
    if (this.#isReused(earlier, use) || movesStorefront(boundUrl, command)) return SIGNATURE_REUSED
    if (!isExpected(existing, command)) return CHANGED
    if (existing === null && publisher !== null && this.#hasReachedLimit(publisher, command))
      return { outcome: 'too_many_listings' }

    const at = this.#changelog.nextTime()
    const publisherId = publisher?.publisherId ?? this.#records.nextPublisherId()
    const record = mergedListing(existing, command, publisherId, at)
    if (rowBytes(record, urlAfter(publisher, command)) > MAX_LISTING_BYTES) return TOO_LARGE
    this.#upsertPublisher(publisher, command, at)
    this.#records.putListing(record)
    this.#changelog.append('listing', listingId, at)
    const { status, createdAt } = record
    const receipt = { listingId, publisherId, status, createdAt, updatedAt: at }
    const storefrontUrl = boundUrl === undefined ? command.storefrontUrl || null : boundUrl
    this.#guard.remember(key, use, { answer: JSON.stringify(receipt), storefrontUrl })
    return { outcome: 'published', record: receipt }
  }

  update(command: UpdateCommand): UpdateOutcome {
    const { identity, listingId, use } = command
    const { key, earlier, existing } = this.#find('update', listingId, use)
    if (earlier?.body === use.body) {
      const record: UpdateReceipt = JSON.parse(earlier.answer)
      return isUnchangedSince(existing, record) ? { outcome: 'updated', record } : SIGNATURE_REUSED
    }
    if (existing === null) return NOT_FOUND
    if (!this.#owns(identity, existing)) return NOT_OWNER
    if (this.#isReused(earlier, use)) return SIGNATURE_REUSED
    if (!isExpected(existing, command)) return CHANGED

    const at = this.#changelog.nextTime()
    const status = command.status ?? existing.status
    const oracleAddress = command.oracleAddress ?? existing.oracleAddress
    const record = { listingId, status, updatedAt: at }
    const listing = { ...existing, ...record, oracleAddress }
    if (command.oracleAddress !== undefined) {
      const { storefrontUrl } = this.#records.publisherOf(identity)!
      if (rowBytes(listing, storefrontUrl) > MAX_LISTING_BYTES) return TOO_LARGE
    }
    this.#records.putListing(listing)
    this.#changelog.append('listing', listingId, at)
    this.#guard.remember(key, use, { answer: JSON.stringify(record), storefrontUrl: null })
    return { outcome: 'updated', record }
  }

  remove({ identity, listingId, use }: RemoveCommand): RemoveOutcome {
    const { key, earlier, existing } = this.#find('remove', listingId, use)
    if (earlier?.body === use.body) return existing === null ? { outcome: 'removed' } : SIGNATURE_REUSED
    if (existing === null) return NOT_FOUND
    if (!this.#owns(identity, existing)) return NOT_OWNER
    if (this.#isReused(earlier, use)) return SIGNATURE_REUSED

    this.#records.removeListing(existing.createdAt)
    this.#changelog.append('listing', listingId, this.#changelog.nextTime())
    this.#guard.remember(key, use, { answer: '', storefrontUrl: null })
    return { outcome: 'removed' }
  }

  hasUse(key: UseKey): boolean {
    return this.#guard.find(key) !== null
  }

  addKey(key: NewKey): ApiKey {
    const at = this.#changelog.nextTime()
    const id = this.#records.addKey(key, at)
    this.#changelog.append('key', id, at)
    return { ...key, id, createdAt: at, revokedAt: null }
  }

  seedKey(key: NewKey): ApiKey | null {
    return this.#records.hasKeys() ? null : this.addKey(key)
  }

  revokeKey(id: number): ApiKey | null {
    const key = this.#records.key(id)
    if (key === null || key.revokedAt !== null) return key
    const at = this.#changelog.nextTime()
    this.#records.revokeKey(id, at)
    this.#changelog.append('key', id, at)
    return { ...key, revokedAt: at }
  }

  #find(operation: SignedOperation, listingId: string, use: UsedSignature) {
    this.#guard.forgetExpired(use)
    const key: UseKey = { operation, listingId, signature: use.signature }
    return { key, earlier: this.#guard.find(key), existing: this.#records.listing(listingId) }
  }

  #owns(identity: PublisherIdentity, { publisherId }: ListingRecord): boolean {
    return this.#records.publisherOf(identity)?.publisherId === publisherId
  }

  #isReused(earlier: EarlierUse | null, use: UsedSignature): boolean {
    return earlier !== null || this.#guard.mayBeForgotten(use)
  }

  #hasReachedLimit({ publisherId }: Publisher, { maxListings }: PublishCommand): boolean {
    return maxListings > 0 && this.#records.countListings(publisherId, maxListings) === maxListings
  }

  #upsertPublisher(publisher: Publisher | null, command: PublishCommand, at: Micros): void {
    const storefrontUrl = urlAfter(publisher, command)
    if (publisher === null) {
      const id = this.#records.addPublisher(command.identity, storefrontUrl, at)
      this.#changelog.append('publisher', id, at)
    } else if (storefrontUrl !== null && storefrontUrl !== publisher.storefrontUrl) {
      this.#records.moveStorefront(publisher.publisherId, storefrontUrl, at)
      this.#changelog.append('publisher', publisher.publisherId, at)
    }
  }
}

const NOT_FOUND = { outcome: 'not_found' } as const
const NOT_OWNER = { outcome: 'not_owner' } as const
const SIGNATURE_REUSED = { outcome: 'signature_reused' } as const
const CHANGED = { outcome: 'changed' } as const
const TOO_LARGE = { outcome: 'too_large' } as const

/** Times rise with every mutation, so an equal time means an unchanged listing. */
function isUnchangedSince(listing: ListingRecord | null, receipt: Pick<ListingRecord, 'updatedAt'>): boolean {
  return listing?.updatedAt === receipt.updatedAt
}

function isExpected(listing: ListingRecord | null, { expected }: { expected?: Expected }): boolean {
  return expected === undefined || expected === (listing?.updatedAt ?? null)
}

/** A captured signature cannot move a storefront: it is bound to the URL of its first use, or to none. */
function movesStorefront(boundUrl: string | null | undefined, { storefrontUrl }: PublishCommand): boolean {
  return boundUrl !== undefined && Boolean(storefrontUrl) && storefrontUrl !== boundUrl
}

function urlAfter(publisher: Publisher | null, { storefrontUrl }: PublishCommand): string | null {
  return publisher === null || storefrontUrl ? storefrontUrl : publisher.storefrontUrl
}

const mergedListing = (
  existing: ListingRecord | null,
  { listingId, fields, status }: PublishCommand,
  publisherId: number,
  at: Micros,
): ListingRecord => ({
  ...(existing ?? NEW_LISTING_FIELDS),
  ...fields,
  listingId,
  publisherId,
  status: status ?? existing?.status ?? 'open',
  createdAt: existing?.createdAt ?? at,
  updatedAt: at,
})

type EarlierUse = { body: string; answer: string }

const MAX_FORGOTTEN_PER_WRITE = 100

/** Call everything inside a transaction. */
class SqliteReplayGuard {
  readonly #find: StatementSync
  readonly #storefront: StatementSync
  readonly #remember: StatementSync
  readonly #expired: StatementSync
  readonly #forget: StatementSync
  readonly #forgottenUntil: StatementSync
  readonly #setForgottenUntil: StatementSync

  constructor(database: DatabaseSync) {
    this.#find = database.prepare(
      `SELECT body, answer FROM signature_use WHERE signature = ? AND operation = ? AND listing_id = ?`,
    )
    this.#storefront = database.prepare(
      `SELECT storefront_url AS url FROM signature_use
       WHERE signature = ? AND operation = 'publish' LIMIT 1`,
    )
    this.#remember = database.prepare(
      `INSERT OR REPLACE INTO signature_use
       (signature, operation, listing_id, body, storefront_url, answer, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#expired = database.prepare(
      `SELECT max(expires_at) AS latest FROM
       (SELECT expires_at FROM signature_use WHERE expires_at <= ? ORDER BY expires_at LIMIT ${MAX_FORGOTTEN_PER_WRITE})`,
    )
    this.#forget = database.prepare('DELETE FROM signature_use WHERE expires_at <= ?')
    this.#forgottenUntil = database.prepare('SELECT expires_at FROM forgotten_use')
    this.#setForgottenUntil = database.prepare(
      `INSERT INTO forgotten_use (id, expires_at) VALUES (1, ?)
       ON CONFLICT DO UPDATE SET expires_at = max(expires_at, excluded.expires_at)`,
    )
  }

  find({ signature, operation, listingId }: UseKey): EarlierUse | null {
    const row = this.#find.get(signature, operation, listingId)
    return row === undefined ? null : { body: String(row.body), answer: String(row.answer) }
  }

  storefrontOf(signature: string): string | null | undefined {
    return this.#storefront.get(signature)?.url as string | null | undefined
  }

  remember(
    { operation, listingId }: UseKey,
    { signature, body, expiresAt }: UsedSignature,
    { answer, storefrontUrl }: { answer: string; storefrontUrl: string | null },
  ): void {
    this.#remember.run(signature, operation, listingId, body, storefrontUrl, answer, expiresAt)
  }

  /** Records the latest forgotten expiry, so that a clock that is set back changes nothing. */
  forgetExpired({ now }: UsedSignature): void {
    const latest = this.#expired.get(now)?.latest
    if (typeof latest !== 'number') return
    this.#setForgottenUntil.run(latest)
    this.#forget.run(latest)
  }

  mayBeForgotten({ expiresAt }: UsedSignature): boolean {
    const until = this.#forgottenUntil.get()
    return until !== undefined && expiresAt <= Number(until.expires_at)
  }
}
