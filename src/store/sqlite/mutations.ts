import type { ApiKey } from '../../domain/api-key.ts'
import {
  type ListingRecord,
  MAX_LISTING_BYTES,
  NEW_LISTING_FIELDS,
  type PublishReceipt,
  rowBytes,
} from '../../domain/listing.ts'
import type { Publisher } from '../../domain/publisher.ts'
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
import type { EarlierUse, SqliteReplayGuard } from './replay-guard.ts'

export type Tables = { records: SqliteRecords; uses: SqliteReplayGuard; changelog: SqliteChangelog }

/*
 * Each function is one mutation in the caller's transaction. All check in this order before the first write:
 * repeat of an earlier use, `not_found`, `not_owner`, `signature_reused`, `changed`, `too_many_listings`,
 * `too_large`.
 */

export function publish(tables: Tables, command: PublishCommand): PublishOutcome {
  const { records, uses, changelog } = tables
  const { identity, listingId, use } = command
  uses.forgetExpired(use)
  const key = useKey('publish', command)
  const earlier = uses.find(key)
  const existing = records.listing(listingId)
  if (earlier?.body === use.body) {
    const record: PublishReceipt = JSON.parse(earlier.answer)
    return isUnchangedSince(existing, record) ? { outcome: 'published', record } : SIGNATURE_REUSED
  }
  const publisher = records.publisherAt(identity)
  if (existing !== null && existing.publisherId !== publisher?.publisherId) return { outcome: 'not_owner' }
  const broughtUrl = uses.storefrontOf(use.signature)
  if (isReused(uses, earlier, use) || movesStorefront(broughtUrl, command)) return SIGNATURE_REUSED
  if (!isExpected(existing, command)) return CHANGED

  if (existing === null && publisher !== null && hasReachedLimit(records, publisher, command))
    return { outcome: 'too_many_listings' }

  const at = changelog.nextTime()
  const publisherId = publisher?.publisherId ?? records.nextPublisherId()
  const record = mergedListing(existing, command, publisherId, at)
  if (rowBytes(record, urlAfter(publisher, command)) > MAX_LISTING_BYTES) return TOO_LARGE
  upsertPublisher(tables, publisher, command, at)
  const receipt = receiptOf(record)
  records.putListing(record)
  changelog.append('listing', record.listingId, at)
  const storefrontUrl = broughtUrl === undefined ? command.storefrontUrl || null : broughtUrl
  uses.remember(key, use, { answer: JSON.stringify(receipt), storefrontUrl })
  return { outcome: 'published', record: receipt }
}

export function update({ records, uses, changelog }: Tables, command: UpdateCommand): UpdateOutcome {
  const { identity, listingId, use } = command
  uses.forgetExpired(use)
  const key = useKey('update', command)
  const earlier = uses.find(key)
  const existing = records.listing(listingId)
  if (earlier?.body === use.body) {
    const record: UpdateReceipt = JSON.parse(earlier.answer)
    return isUnchangedSince(existing, record) ? { outcome: 'updated', record } : SIGNATURE_REUSED
  }
  if (existing === null) return { outcome: 'not_found' }
  if (!owns(records, identity, existing)) return { outcome: 'not_owner' }
  if (isReused(uses, earlier, use)) return SIGNATURE_REUSED
  if (!isExpected(existing, command)) return CHANGED

  const at = changelog.nextTime()
  const status = command.status ?? existing.status
  const oracleAddress = command.oracleAddress ?? existing.oracleAddress
  const record = { listingId, status, updatedAt: at }
  const listing = { ...existing, ...record, oracleAddress }
  if (command.oracleAddress !== undefined) {
    const { storefrontUrl } = records.publisherAt(identity)!
    if (rowBytes(listing, storefrontUrl) > MAX_LISTING_BYTES) return TOO_LARGE
  }
  records.putListing(listing)
  changelog.append('listing', listingId, at)
  uses.remember(key, use, { answer: JSON.stringify(record), storefrontUrl: null })
  return { outcome: 'updated', record }
}

export function remove({ records, uses, changelog }: Tables, command: RemoveCommand): RemoveOutcome {
  const { identity, listingId, use } = command
  uses.forgetExpired(use)
  const key = useKey('remove', command)
  const earlier = uses.find(key)
  const existing = records.listing(listingId)
  if (earlier?.body === use.body) return existing === null ? { outcome: 'removed' } : SIGNATURE_REUSED
  if (existing === null) return { outcome: 'not_found' }
  if (!owns(records, identity, existing)) return { outcome: 'not_owner' }
  if (isReused(uses, earlier, use)) return SIGNATURE_REUSED

  records.removeListing(existing.createdAt)
  changelog.append('listing', listingId, changelog.nextTime())
  uses.remember(key, use, { answer: '', storefrontUrl: null })
  return { outcome: 'removed' }
}

export function addKey({ records, changelog }: Tables, key: NewKey): ApiKey {
  const at = changelog.nextTime()
  const id = records.addKey(key, at)
  changelog.append('key', id, at)
  return { id, name: key.name, scope: key.scope, hash: key.hash, createdAt: at, revokedAt: null }
}

export const seedKey = (tables: Tables, key: NewKey): ApiKey | null =>
  tables.records.hasKeys() ? null : addKey(tables, key)

export function revokeKey({ records, changelog }: Tables, id: number): ApiKey | null {
  const key = records.key(id)
  if (key === null || key.revokedAt !== null) return key
  const at = changelog.nextTime()
  records.revokeKey(id, at)
  changelog.append('key', id, at)
  return { ...key, revokedAt: at }
}

const SIGNATURE_REUSED = { outcome: 'signature_reused' } as const
const CHANGED = { outcome: 'changed' } as const
const TOO_LARGE = { outcome: 'too_large' } as const

function useKey(
  operation: SignedOperation,
  { listingId, use: { signature } }: { listingId: string; use: UsedSignature },
): UseKey {
  return { operation, listingId, signature }
}

/** Times rise with every mutation, so an equal time means an unchanged listing. */
function isUnchangedSince(listing: ListingRecord | null, receipt: Pick<ListingRecord, 'updatedAt'>): boolean {
  return listing?.updatedAt === receipt.updatedAt
}

function isExpected(listing: ListingRecord | null, { expected }: { expected?: Expected }): boolean {
  return expected === undefined || expected === (listing?.updatedAt ?? null)
}

function isReused(uses: SqliteReplayGuard, earlier: EarlierUse | null, use: UsedSignature): boolean {
  return earlier !== null || uses.mayBeForgotten(use)
}

/** A captured signature cannot move a storefront: it is bound to the URL of its first use, or to none. */
const movesStorefront = (broughtUrl: string | null | undefined, { storefrontUrl }: PublishCommand): boolean =>
  broughtUrl !== undefined && Boolean(storefrontUrl) && storefrontUrl !== broughtUrl

function hasReachedLimit(
  records: SqliteRecords,
  { publisherId }: Publisher,
  { maxListings }: PublishCommand,
): boolean {
  return maxListings > 0 && records.countListings(publisherId, maxListings) === maxListings
}

function urlAfter(publisher: Publisher | null, { storefrontUrl }: PublishCommand): string | null {
  return publisher === null || storefrontUrl ? storefrontUrl : publisher.storefrontUrl
}

function upsertPublisher(
  { records, changelog }: Tables,
  publisher: Publisher | null,
  command: PublishCommand,
  at: Micros,
): void {
  const storefrontUrl = urlAfter(publisher, command)
  if (publisher === null) {
    changelog.append('publisher', records.addPublisher(command.identity, storefrontUrl, at), at)
  } else if (storefrontUrl !== null && storefrontUrl !== publisher.storefrontUrl) {
    records.moveStorefront(publisher.publisherId, storefrontUrl, at)
    changelog.append('publisher', publisher.publisherId, at)
  }
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

const receiptOf = ({
  listingId,
  publisherId,
  status,
  createdAt,
  updatedAt,
}: ListingRecord): PublishReceipt => ({
  listingId,
  publisherId,
  status,
  createdAt,
  updatedAt,
})

const owns = (records: SqliteRecords, identity: PublisherIdentity, { publisherId }: ListingRecord): boolean =>
  records.publisherAt(identity)?.publisherId === publisherId
