import type { ApiKey } from '../domain/api-key.ts'
import { type ListingRecord, NEW_LISTING_FIELDS, type PublishReceipt } from '../domain/listing.ts'
import type { Publisher } from '../domain/publisher.ts'
import type { Micros } from '../domain/timestamp.ts'
import type { SqliteChangelog } from './sqlite-changelog.ts'
import type { SqliteRecords } from './sqlite-records.ts'
import type { SqliteSignatureUses, UseKey } from './sqlite-signature-uses.ts'
import type {
  Identity,
  NewKey,
  PublishCommand,
  PublishOutcome,
  RemoveCommand,
  RemoveOutcome,
  UpdateCommand,
  UpdateOutcome,
} from './store.ts'

export type Tables = { records: SqliteRecords; uses: SqliteSignatureUses; changelog: SqliteChangelog }

/*
 * Each function here is one mutation; the caller holds the transaction. The order of checks is the same in all:
 * a use seen before is answered as it was then, whatever has happened since; then `not_found`; then `not_owner`;
 * then `signature_reused`. Nothing is written before the last of them (`protocol.md` 8, Side effects).
 */

export const publish = (tables: Tables, command: PublishCommand): PublishOutcome => {
  const { records, uses, changelog } = tables
  const key: UseKey = { operation: 'publish', listingId: command.listingId, use: command.use }
  const earlier = uses.find(key)
  if (earlier?.body === command.use.body) return { outcome: 'published', record: JSON.parse(earlier.answer) }
  const publisher = records.publisherOf(command.identity)
  const existing = records.listing(command.listingId)
  if (existing !== null && existing.publisherId !== publisher?.publisherId) return { outcome: 'not_owner' }
  const broughtUrl = uses.storefrontOf(command.use.signature)
  if (earlier !== null || bringsAnotherUrl(broughtUrl, command)) return { outcome: 'signature_reused' }

  const at = changelog.nextTime()
  const publisherId = upsertPublisher(tables, publisher, command, at)
  const record = merged(existing, command, publisherId, at)
  const receipt = receiptOf(record)
  records.putListing(record)
  changelog.append('listing', record.listingId, at)
  uses.remember(key, JSON.stringify(receipt), broughtUrl === undefined ? command.storefrontUrl : broughtUrl)
  return { outcome: 'published', record: receipt }
}

export const update = ({ records, uses, changelog }: Tables, command: UpdateCommand): UpdateOutcome => {
  const key: UseKey = { operation: 'update', listingId: command.listingId, use: command.use }
  const earlier = uses.find(key)
  if (earlier?.body === command.use.body) return { outcome: 'updated', record: JSON.parse(earlier.answer) }
  const existing = records.listing(command.listingId)
  if (existing === null) return { outcome: 'not_found' }
  if (!owns(records, command.identity, existing)) return { outcome: 'not_owner' }
  if (earlier !== null) return { outcome: 'signature_reused' }

  const at = changelog.nextTime()
  const status = command.status ?? existing.status
  const oracleAddress = command.oracleAddress ?? existing.oracleAddress
  const record = { listingId: command.listingId, status, updatedAt: at }
  records.putListing({ ...existing, ...record, oracleAddress })
  changelog.append('listing', command.listingId, at)
  uses.remember(key, JSON.stringify(record), null)
  return { outcome: 'updated', record }
}

export const remove = ({ records, uses, changelog }: Tables, command: RemoveCommand): RemoveOutcome => {
  const key: UseKey = { operation: 'remove', listingId: command.listingId, use: command.use }
  const earlier = uses.find(key)
  if (earlier?.body === command.use.body) return { outcome: 'removed' }
  const existing = records.listing(command.listingId)
  if (existing === null) return { outcome: 'not_found' }
  if (!owns(records, command.identity, existing)) return { outcome: 'not_owner' }
  if (earlier !== null) return { outcome: 'signature_reused' }

  records.removeListing(existing.createdAt)
  changelog.append('listing', command.listingId, changelog.nextTime())
  uses.remember(key, '', null)
  return { outcome: 'removed' }
}

export const addKey = ({ records, changelog }: Tables, key: NewKey): ApiKey => {
  const at = changelog.nextTime()
  const id = records.addKey(key, at)
  changelog.append('key', id, at)
  return { id, name: key.name, scope: key.scope, hash: key.hash, createdAt: at, revokedAt: null }
}

export const seedKey = (tables: Tables, key: NewKey): ApiKey | null =>
  tables.records.hasKeys() ? null : addKey(tables, key)

export const revokeKey = ({ records, changelog }: Tables, id: number): ApiKey | null => {
  const key = records.key(id)
  if (key === null || key.revokedAt !== null) return key
  const at = changelog.nextTime()
  records.revokeKey(id, at)
  changelog.append('key', id, at)
  return { ...key, revokedAt: at }
}

/** A signature brings the storefront URL of its first use, or none: a captured one cannot move a storefront. */
const bringsAnotherUrl = (
  broughtUrl: string | null | undefined,
  { storefrontUrl }: PublishCommand,
): boolean => broughtUrl !== undefined && storefrontUrl !== null && storefrontUrl !== broughtUrl

const upsertPublisher = (
  { records, changelog }: Tables,
  publisher: Publisher | null,
  { identity, storefrontUrl }: PublishCommand,
  at: Micros,
): number => {
  if (publisher === null) {
    const publisherId = records.addPublisher(identity, storefrontUrl, at)
    changelog.append('publisher', publisherId, at)
    return publisherId
  }
  if (storefrontUrl !== null && storefrontUrl !== publisher.storefrontUrl) {
    records.moveStorefront(publisher.publisherId, storefrontUrl, at)
    changelog.append('publisher', publisher.publisherId, at)
  }
  return publisher.publisherId
}

const merged = (
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

const owns = (records: SqliteRecords, identity: Identity, { publisherId }: ListingRecord): boolean =>
  records.publisherOf(identity)?.publisherId === publisherId
