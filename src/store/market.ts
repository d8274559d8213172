import type { ApiKey } from '../domain/api-key.ts'
import type { Block, NewBlock } from '../domain/block.ts'
import {
  type ListingRecord,
  MAX_LISTING_BYTES,
  NEW_LISTING_FIELDS,
  type PublishReceipt,
  rowBytes,
} from '../domain/listing.ts'
import { listingFrom, listingText } from '../domain/listing-row.ts'
import {
  isActive,
  type Publisher,
  type PublisherIdentity,
  type Rotation,
  retired,
  rotated,
} from '../domain/publisher.ts'
import type { Micros } from '../domain/timestamp.ts'
import type {
  NewKey,
  PublishCommand,
  PublishOutcome,
  RemoveCommand,
  RemoveOutcome,
  RetireCommand,
  RetireOutcome,
  RotateCommand,
  RotateOutcome,
  UpdateCommand,
  UpdateOutcome,
  UpdateReceipt,
  WriteRequest,
} from './commands.ts'
import { checkUse, isCaptured, putReceipt, receiptOf, rememberUse } from './guard.ts'
import {
  apiKeyFrom,
  apiKeyKey,
  apiKeyText,
  blockFrom,
  blockKey,
  blockText,
  identityKey,
  publisherFrom,
  publisherKey,
  publisherText,
} from './records.ts'
import type { Draft } from './writer.ts'

// The rules of the market. Each reads and puts rows of a draft, which is committed as a whole. Checks come in this order, and
// before the first put: repeat of an earlier use, `not_found`, `retired`, `not_owner`, `signature_reused`,
// `too_many_listings`, `too_large`, `unfit`.

export function publish(draft: Draft, command: PublishCommand): PublishOutcome {
  const { identity, listingId, storefrontUrl: url, maxListings, use } = command
  const existing = listingOf(draft, listingId)
  const signer = publisherOf(draft, identity)
  const earlier = checkUse<PublishReceipt>(draft, 'publish', command, existing)
  if (earlier.isRepeat) {
    if (earlier.receipt === null) return SIGNATURE_REUSED
    return { outcome: 'published', record: earlier.receipt ?? receiptFor(existing!) }
  }
  if (signer !== null && !isActive(signer, identity, use.now)) return { outcome: 'retired' }
  if (existing !== null && existing.publisherId !== signer?.publisherId) return NOT_OWNER
  if (earlier.isReused || isCaptured(draft, command)) return SIGNATURE_REUSED
  const publisherId = signer?.publisherId ?? numberOf(draft, LAST_PUBLISHER) + 1
  const count = existing === null && signer !== null ? numberOf(draft, countOf(publisherId)) : 0
  if (existing === null && maxListings > 0 && count >= maxListings) return { outcome: 'too_many_listings' }

  const at = draft.tick()
  const storefrontUrl = signer === null || url ? url : signer.storefrontUrl
  const record = mergedListing(existing, command, publisherId, at)
  if (rowBytes(record, storefrontUrl) > MAX_LISTING_BYTES) return TOO_LARGE
  const violations = command.check?.(record, storefrontUrl) ?? []
  if (violations.length > 0) return { outcome: 'unfit', violations }
  const publisher = publisherText({ rotations: [], ...identity, ...signer, storefrontUrl })
  if (signer === null) {
    putNumber(draft, LAST_PUBLISHER, publisherId)
    putNumber(draft, identityKey(identity), publisherId)
    draft.add('registry', publisherKey(publisherId), publisher, at)
    draft.add('facts', countOf(publisherId), '1')
  } else {
    if (storefrontUrl !== signer.storefrontUrl)
      draft.put('registry', publisherKey(publisherId), publisher, at)
    if (existing === null) putNumber(draft, countOf(publisherId), count + 1)
  }
  draft.put('listings', listingId, listingText(record), at)
  const receipt = receiptFor(record)
  rememberUse(draft, 'publish', command, { at, receipt }, command)
  return { outcome: 'published', record: receipt }
}

export function update(draft: Draft, command: UpdateCommand): UpdateOutcome {
  const { identity, listingId, status, oracleAddress } = command
  const existing = listingOf(draft, listingId)
  const signer = publisherOf(draft, identity)
  const earlier = checkUse<UpdateReceipt>(draft, 'update', command, existing)
  if (earlier.isRepeat) {
    if (earlier.receipt === null) return SIGNATURE_REUSED
    return { outcome: 'updated', record: earlier.receipt ?? updateReceiptFor(existing!) }
  }
  if (existing === null) return NOT_FOUND
  if (!isOwner(existing, signer, command)) return NOT_OWNER
  if (earlier.isReused) return SIGNATURE_REUSED

  const at = draft.tick()
  const record = {
    ...existing,
    status: status ?? existing.status,
    oracleAddress: oracleAddress ?? existing.oracleAddress,
    updatedAt: at,
  }
  const { storefrontUrl } = signer!
  if (oracleAddress !== undefined && rowBytes(record, storefrontUrl) > MAX_LISTING_BYTES) return TOO_LARGE
  const violations = command.check?.(record, storefrontUrl) ?? []
  if (violations.length > 0) return { outcome: 'unfit', violations }
  draft.put('listings', listingId, listingText(record), at)
  const receipt = updateReceiptFor(record)
  rememberUse(draft, 'update', command, { at, receipt })
  return { outcome: 'updated', record: receipt }
}

export function remove(draft: Draft, command: RemoveCommand): RemoveOutcome {
  const { identity, listingId } = command
  const existing = listingOf(draft, listingId)
  const signer = publisherOf(draft, identity)
  const earlier = checkUse(draft, 'remove', command, existing)
  if (earlier.isRepeat) return earlier.receipt === null ? SIGNATURE_REUSED : REMOVED
  if (existing === null) return NOT_FOUND
  if (!isOwner(existing, signer, command)) return NOT_OWNER
  if (earlier.isReused) return SIGNATURE_REUSED

  const count = countOf(existing.publisherId)
  putNumber(draft, count, numberOf(draft, count) - 1)
  draft.remove('listings', listingId)
  const at = draft.tick()
  draft.add('removed', listingId, '', at)
  rememberUse(draft, 'remove', command, { at, receipt: {} })
  return REMOVED
}

const NOT_FOUND = { outcome: 'not_found' } as const
const NOT_OWNER = { outcome: 'not_owner' } as const
const SIGNATURE_REUSED = { outcome: 'signature_reused' } as const
const TOO_LARGE = { outcome: 'too_large' } as const
const REMOVED = { outcome: 'removed' } as const

const isOwner = (
  listing: ListingRecord,
  signer: Publisher | null,
  { identity, use }: RemoveCommand,
): boolean => listing.publisherId === signer?.publisherId && isActive(signer, identity, use.now)

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

const receiptFor = ({
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

const updateReceiptFor = ({ listingId, status, updatedAt }: ListingRecord): UpdateReceipt => ({
  listingId,
  status,
  updatedAt,
})

function listingOf(draft: Draft, listingId: string): ListingRecord | null {
  const row = draft.get('listings', listingId)
  return row && listingFrom(row)
}

/** Whose identity it is or was. */
export function publisherOf(draft: Draft, identity: PublisherIdentity): Publisher | null {
  const id = numberOf(draft, identityKey(identity))
  return id === 0 ? null : publisherWith(draft, id)
}

function publisherWith(draft: Draft, id: number): Publisher | null {
  const row = draft.get('registry', publisherKey(id))
  return row && publisherFrom(row)
}

export function rotate(draft: Draft, { publisherId, intent, use }: RotateCommand): RotateOutcome {
  const rotation = receiptOf<Rotation>(draft, use)
  if (rotation !== undefined) return { outcome: 'recorded', rotation }
  const publisher = publisherWith(draft, publisherId)
  if (publisher === null) return { outcome: 'publisher_not_found' }
  const result = rotated(publisher, intent, use.now)
  if (result.outcome !== 'changed') return result
  if (publisherOf(draft, intent.replacement) !== null) return { outcome: 'bound' }
  putNumber(draft, identityKey(intent.replacement), publisherId)
  return rebind(draft, result, use)
}

export function retire(draft: Draft, { publisherId, nonce, identity, use }: RetireCommand): RetireOutcome {
  const rotation = receiptOf<Rotation>(draft, use)
  if (rotation !== undefined) return { outcome: 'recorded', rotation }
  const publisher = publisherWith(draft, publisherId)
  if (publisher === null) return { outcome: 'rotation_not_found' }
  const result = retired(publisher, { nonce, identity }, use.now)
  return result.outcome === 'changed' ? rebind(draft, result, use) : result
}

function rebind(
  draft: Draft,
  { publisher, rotation }: { publisher: Publisher; rotation: Rotation },
  use: WriteRequest,
) {
  draft.put('registry', publisherKey(publisher.publisherId), publisherText(publisher))
  putReceipt(draft, use, rotation)
  return { outcome: 'recorded', rotation } as const
}

export function addKey(draft: Draft, key: NewKey): ApiKey {
  const id = numberOf(draft, LAST_KEY) + 1
  putNumber(draft, LAST_KEY, id)
  const createdAt = draft.tick()
  const added = { view: null, ...key, id, createdAt, revokedAt: null }
  draft.add('registry', apiKeyKey(id), apiKeyText(added), createdAt)
  return added
}

export function seedKey(draft: Draft, key: NewKey): ApiKey | null {
  return numberOf(draft, LAST_KEY) === 0 ? addKey(draft, key) : null
}

export function replaceKey(draft: Draft, id: number, endsAt: Micros, key: NewKey): ApiKey | null {
  const replaced = keyWith(draft, id)
  if (replaced === null || replaced.revokedAt !== null) return null
  const expiresAt = Math.min(replaced.expiresAt ?? endsAt, endsAt)
  if (expiresAt !== replaced.expiresAt)
    draft.put('registry', apiKeyKey(id), apiKeyText({ ...replaced, expiresAt }))
  return addKey(draft, key)
}

export function revokeKey(draft: Draft, id: number): ApiKey | null {
  const key = keyWith(draft, id)
  if (key === null || key.revokedAt !== null) return key
  const revoked = { ...key, revokedAt: draft.tick() }
  draft.put('registry', apiKeyKey(id), apiKeyText(revoked), revoked.revokedAt)
  return revoked
}

function keyWith(draft: Draft, id: number): ApiKey | null {
  const row = draft.get('registry', apiKeyKey(id))
  return row && apiKeyFrom(row)
}

export function addBlock(draft: Draft, block: NewBlock): Block {
  const id = numberOf(draft, LAST_BLOCK) + 1
  putNumber(draft, LAST_BLOCK, id)
  const createdAt = draft.tick()
  const added = { ...block, id, createdAt, endedAt: null }
  draft.add('registry', blockKey(id), blockText(added), createdAt)
  return added
}

export function endBlock(draft: Draft, id: number, onlyIfDue: boolean): Block | null {
  const row = draft.get('registry', blockKey(id))
  const block = row && blockFrom(row)
  if (block === null || block.endedAt !== null) return block
  const endedAt = draft.tick()
  if (onlyIfDue && !(block.until !== null && block.until <= endedAt)) return block
  const ended = { ...block, endedAt }
  draft.put('registry', blockKey(id), blockText(ended), endedAt)
  return ended
}

// Of the space `facts`. Ids are never reused.
export const LAST_PUBLISHER = 'last publisher'
const LAST_KEY = 'last key'
const LAST_BLOCK = 'last block'
/** Number of a publisher's listings. */
export const countOf = (publisherId: number): string => `listings ${publisherId}`

function numberOf(draft: Draft, fact: string): number {
  return Number(draft.get('facts', fact)?.value ?? 0)
}

function putNumber(draft: Draft, fact: string, value: number): void {
  draft.put('facts', fact, String(value))
}
