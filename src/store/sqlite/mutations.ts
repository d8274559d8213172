import type { ApiKey } from '../../domain/api-key.ts'
import type { Block, NewBlock } from '../../domain/block.ts'
import {
  fieldsOf,
  type ListingRecord,
  MAX_LISTING_BYTES,
  NEW_LISTING_FIELDS,
  type PublishReceipt,
  rowBytes,
} from '../../domain/listing.ts'
import { isActive, type Publisher, type Rotation, retired, rotated } from '../../domain/publisher.ts'
import type { Micros } from '../../domain/timestamp.ts'
import {
  type Expected,
  isWriteRequest,
  type NewKey,
  type PublishCommand,
  type PublishOutcome,
  type RemoveCommand,
  type RemoveOutcome,
  type RetireCommand,
  type RetireOutcome,
  type RotateCommand,
  type RotateOutcome,
  SIGNATURE_SHARED_MICROS,
  type SignedOperation,
  type UpdateCommand,
  type UpdateOutcome,
  type UpdateReceipt,
  type UseKey,
  type WriteRequest,
} from '../store.ts'
import { SqliteBlocks } from './blocks.ts'
import type { SqliteChangelog } from './changelog.ts'
import { SqlitePublishers } from './publishers.ts'
import type { SpentSignatures } from './spent-signatures.ts'
import { API_KEY_ROW, COLUMNS, LISTING_ROW, type Sql } from './sql.ts'
import { SqliteWriteRequests } from './write-requests.ts'

/**
 * Each member is one mutation in the caller's transaction. All check in this order before the first write: repeat of an
 * earlier use, `not_found`, `retired`, `not_owner`, `signature_reused`, `changed`, `too_many_listings`, `too_large`.
 */
export class SqliteMutations {
  readonly #sql: Sql
  readonly #changelog: SqliteChangelog
  readonly #blocks: SqliteBlocks
  readonly #spent: SpentSignatures
  readonly #publishers: SqlitePublishers
  readonly requests: SqliteWriteRequests

  constructor(sql: Sql, changelog: SqliteChangelog, spent: SpentSignatures) {
    this.#sql = sql
    this.#changelog = changelog
    this.#blocks = new SqliteBlocks(sql)
    this.#spent = spent
    this.#publishers = new SqlitePublishers(sql)
    this.requests = new SqliteWriteRequests(sql, spent)
  }

  publish(command: PublishCommand): PublishOutcome {
    const { identity, listingId, use } = command
    const { existing, signer, isRepeat, receipt, refusal } = this.#check<PublishReceipt>('publish', command)
    if (!isRepeat && signer !== null && !isActive(signer, identity, use.now)) return { outcome: 'retired' }
    if (refusal !== null) return refusal
    if (isRepeat) return { outcome: 'published', record: receipt }
    const first = isWriteRequest(use) ? null : this.#sql.get<FirstUse>(FIRST_USE, use.signature)
    if (first !== null && isCaptured(first, command)) return SIGNATURE_REUSED
    if (!isExpected(existing, command)) return CHANGED
    if (existing === null && signer !== null && this.#hasReachedLimit(signer, command))
      return { outcome: 'too_many_listings' }

    const at = this.#changelog.nextTime()
    const publisherId = signer?.publisherId ?? this.#publishers.nextId()
    const storefrontUrl =
      signer === null || command.storefrontUrl ? command.storefrontUrl : signer.storefrontUrl
    const record = mergedListing(existing, command, publisherId, at)
    if (rowBytes(record, storefrontUrl) > MAX_LISTING_BYTES) return TOO_LARGE
    if (signer === null) {
      const { scheme, identifier } = identity
      const times = { createdAt: at, updatedAt: at }
      this.#publishers.put({ publisherId, scheme, identifier, storefrontUrl, ...times, rotations: [] })
    } else if (storefrontUrl !== signer.storefrontUrl) {
      const text = 'UPDATE publisher SET storefront_url = ?, updated_at = ? WHERE publisher_id = ?'
      this.#sql.run(text, storefrontUrl, at, publisherId)
    }
    if (storefrontUrl !== signer?.storefrontUrl) this.#changelog.append('publisher', publisherId, at)
    this.#sql.run(PUT_LISTING, ...fieldsOf(record))
    this.#changelog.append('listing', listingId, at)
    const { status, createdAt } = record
    const answer = { listingId, publisherId, status, createdAt, updatedAt: at }
    this.#remember('publish', command, answer, first ?? firstUse(command))
    return { outcome: 'published', record: answer }
  }

  update(command: UpdateCommand): UpdateOutcome {
    const { listingId } = command
    const { existing, signer, isRepeat, receipt, refusal } = this.#check<UpdateReceipt>('update', command)
    if (isRepeat) return refusal ?? { outcome: 'updated', record: receipt }
    if (existing === null) return NOT_FOUND
    if (refusal !== null) return refusal
    if (!isExpected(existing, command)) return CHANGED

    const at = this.#changelog.nextTime()
    const status = command.status ?? existing.status
    const oracleAddress = command.oracleAddress ?? existing.oracleAddress
    const record = { listingId, status, updatedAt: at }
    const listing = { ...existing, ...record, oracleAddress }
    if (command.oracleAddress !== undefined && rowBytes(listing, signer!.storefrontUrl) > MAX_LISTING_BYTES)
      return TOO_LARGE
    this.#sql.run(PUT_LISTING, ...fieldsOf(listing))
    this.#changelog.append('listing', listingId, at)
    this.#remember('update', command, record)
    return { outcome: 'updated', record }
  }

  remove(command: RemoveCommand): RemoveOutcome {
    const { existing, isRepeat, refusal } = this.#check('remove', command)
    if (isRepeat) return refusal ?? { outcome: 'removed' }
    if (existing === null) return NOT_FOUND
    if (refusal !== null) return refusal

    this.#sql.run('DELETE FROM listing WHERE created_at = ?', existing.createdAt)
    this.#changelog.append('listing', command.listingId, this.#changelog.nextTime())
    this.#remember('remove', command, null)
    return { outcome: 'removed' }
  }

  hasUse({ signature, operation, listingId }: UseKey): boolean {
    return this.#sql.get(USE, signature, operation, listingId) !== null
  }

  addKey(key: NewKey): ApiKey {
    const createdAt = this.#changelog.nextTime()
    const { id } = this.#sql.get<{ id: number }>('SELECT coalesce(max(id), 0) + 1 AS id FROM api_key')!
    const added = { view: null, ...key, id, createdAt, revokedAt: null }
    this.#sql.put('api_key', added)
    this.#changelog.append('key', id, createdAt)
    return added
  }

  seedKey(key: NewKey): ApiKey | null {
    return this.#sql.get('SELECT 1 FROM api_key LIMIT 1') === null ? this.addKey(key) : null
  }

  replaceKey(id: number, endsAt: Micros, key: NewKey): ApiKey | null {
    const replaced = this.#keyWith(id)
    if (replaced === null || replaced.revokedAt !== null) return null
    this.#sql.put('api_key', { ...replaced, expiresAt: Math.min(replaced.expiresAt ?? endsAt, endsAt) })
    this.#changelog.append('key', id, this.#changelog.nextTime())
    return this.addKey(key)
  }

  #keyWith(id: number): ApiKey | null {
    return this.#sql.get<ApiKey>(`SELECT ${API_KEY_ROW} FROM api_key WHERE id = ?`, id)
  }

  revokeKey(id: number): ApiKey | null {
    const key = this.#keyWith(id)
    if (key === null || key.revokedAt !== null) return key
    const revoked = { ...key, revokedAt: this.#changelog.nextTime() }
    this.#sql.put('api_key', revoked)
    this.#changelog.append('key', id, revoked.revokedAt)
    return revoked
  }

  addBlock(block: NewBlock): Block {
    const createdAt = this.#changelog.nextTime()
    const added = this.#blocks.add(block, createdAt)
    this.#changelog.append('block', added.id, createdAt)
    return added
  }

  endBlock(id: number, onlyIfDue: boolean): Block | null {
    const block = this.#blocks.get(id)
    if (block === null || block.endedAt !== null) return block
    const endedAt = this.#changelog.nextTime()
    if (onlyIfDue && !(block.until !== null && block.until <= endedAt)) return block
    const ended = { ...block, endedAt }
    this.#blocks.put(ended)
    this.#changelog.append('block', id, endedAt)
    return ended
  }

  rotate({ publisherId, intent, use }: RotateCommand): RotateOutcome {
    const receipt = this.requests.receiptOf<Rotation>(use)
    if (receipt !== undefined) return { outcome: 'recorded', rotation: receipt }
    const publisher = this.#publishers.get(publisherId)
    if (publisher === null) return { outcome: 'publisher_not_found' }
    const result = rotated(publisher, intent, use.now)
    if (result.outcome === 'changed' && this.#publishers.withIdentity(intent.replacement) !== null)
      return { outcome: 'bound' }
    return result.outcome === 'changed' ? this.#rebind(result, use) : result
  }

  retire({ publisherId, nonce, identity, use }: RetireCommand): RetireOutcome {
    const receipt = this.requests.receiptOf<Rotation>(use)
    if (receipt !== undefined) return { outcome: 'recorded', rotation: receipt }
    const publisher = this.#publishers.get(publisherId)
    if (publisher === null) return { outcome: 'rotation_not_found' }
    const result = retired(publisher, { nonce, identity }, use.now)
    return result.outcome === 'changed' ? this.#rebind(result, use) : result
  }

  #rebind({ publisher, rotation }: { publisher: Publisher; rotation: Rotation }, use: WriteRequest) {
    const updatedAt = this.#changelog.nextTime()
    this.#publishers.put({ ...publisher, updatedAt })
    this.#changelog.append('publisher', publisher.publisherId, updatedAt)
    this.requests.putReceipt(use, rotation)
    return { outcome: 'recorded', rotation } as const
  }

  /** A repeat is refused as well, if the listing has changed since; that of a request of the signed line is not. */
  #check<Receipt extends Pick<ListingRecord, 'updatedAt'>>(
    operation: SignedOperation,
    { identity, listingId, use }: RemoveCommand,
  ) {
    this.#spent.spendExpired(use.now)
    const existing = this.#sql.get<ListingRecord>(LISTING_OF, listingId)
    const signer = this.#publishers.withIdentity(identity)
    const isOwner =
      existing === null ||
      (existing.publisherId === signer?.publisherId && isActive(signer, identity, use.now))
    if (isWriteRequest(use)) {
      const receipt = this.requests.receiptOf<Receipt>(use)
      const isRepeat = receipt !== undefined
      const refusal = isRepeat || isOwner ? null : NOT_OWNER
      return { existing, signer, isRepeat, receipt: receipt as Receipt, refusal }
    }
    const earlier = this.#sql.get<{ body: string; answer: string }>(USE, use.signature, operation, listingId)
    const isRepeat = earlier?.body === use.body
    const receipt: Receipt = isRepeat && operation !== 'remove' ? JSON.parse(earlier.answer) : undefined
    const facts = { existing, signer, isRepeat, receipt }
    // Times rise with every mutation, so an equal time means an unchanged listing.
    if (isRepeat)
      return { ...facts, refusal: existing?.updatedAt === receipt?.updatedAt ? null : SIGNATURE_REUSED }
    if (!isOwner) return { ...facts, refusal: NOT_OWNER }
    const isReused = earlier !== null || this.#spent.mayHave(use)
    return { ...facts, refusal: isReused ? SIGNATURE_REUSED : null }
  }

  #hasReachedLimit({ publisherId }: Publisher, { maxListings }: PublishCommand): boolean {
    if (maxListings === 0) return false
    const text = 'SELECT count(*) AS count FROM (SELECT 1 FROM listing WHERE publisher_id = ? LIMIT ?)'
    return this.#sql.get<{ count: number }>(text, publisherId, maxListings)!.count === maxListings
  }

  #remember(
    operation: SignedOperation,
    { listingId, use }: RemoveCommand,
    receipt: object | null,
    { url, keyId, usedAt }: FirstUse = UNBOUND,
  ): void {
    if (isWriteRequest(use)) {
      this.requests.putReceipt(use, receipt ?? {})
      return
    }
    const { signature, body, expiresAt } = use
    const answer = receipt === null ? '' : JSON.stringify(receipt)
    this.#sql.run(
      `INSERT OR REPLACE INTO signature_use
       (signature, operation, listing_id, body, storefront_url, answer, expires_at, key_id, used_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      signature,
      operation,
      listingId,
      body,
      url,
      answer,
      expiresAt,
      keyId,
      usedAt,
    )
  }
}

const NOT_FOUND = { outcome: 'not_found' } as const
const NOT_OWNER = { outcome: 'not_owner' } as const
const SIGNATURE_REUSED = { outcome: 'signature_reused' } as const
const CHANGED = { outcome: 'changed' } as const
const TOO_LARGE = { outcome: 'too_large' } as const

/** Leaves the indexes of a known listing as they are. */
const PUT_LISTING = `
INSERT INTO listing (${COLUMNS.listing}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (created_at) DO UPDATE SET status = excluded.status, updated_at = excluded.updated_at,
  offer_resource = excluded.offer_resource, accepted_escrows = excluded.accepted_escrows, demands = excluded.demands,
  max_duration_seconds = excluded.max_duration_seconds, oracle_address = excluded.oracle_address,
  settlement_options = excluded.settlement_options`

const LISTING_OF = `SELECT ${LISTING_ROW} FROM listing WHERE listing_id = ?`
const USE = 'SELECT body, answer FROM signature_use WHERE signature = ? AND operation = ? AND listing_id = ?'

/** Of a signature that publishes. `usedAt` is `null` in rows of older versions, which bind the URL only. */
type FirstUse = { url: string | null; keyId: number | null; usedAt: Micros | null }

const UNBOUND: FirstUse = { url: null, keyId: null, usedAt: null }
const FIRST_USE = `
SELECT storefront_url AS url, key_id AS keyId, used_at AS usedAt
FROM signature_use WHERE signature = ? AND operation = 'publish' ORDER BY used_at DESC LIMIT 1`

const firstUse = ({ storefrontUrl, keyId, use }: PublishCommand): FirstUse => ({
  url: storefrontUrl || null,
  keyId,
  usedAt: use.now,
})

/** A captured signature moves no storefront, and changes no other listing of its publisher. */
function isCaptured(first: FirstUse, { storefrontUrl, keyId, use }: PublishCommand): boolean {
  if (storefrontUrl && storefrontUrl !== first.url) return true
  if (keyId !== null && first.keyId !== null) return keyId !== first.keyId
  return first.usedAt !== null && Math.abs(use.now - first.usedAt) > SIGNATURE_SHARED_MICROS
}

function isExpected(listing: ListingRecord | null, { expected }: { expected?: Expected }): boolean {
  return expected === undefined || expected === (listing?.updatedAt ?? null)
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
