import type { ApiKey } from '../../domain/api-key.ts'
import type { Block } from '../../domain/block.ts'
import {
  FIELD_END,
  fieldsOf,
  LISTING_END,
  type ListingRecord,
  NEW_LISTING_FIELDS,
  type PackedListings,
  recordOf,
} from '../../domain/listing.ts'
import { activeUntil, type Publisher, type PublisherIdentity, type Rotation } from '../../domain/publisher.ts'
import type { Micros } from '../../domain/timestamp.ts'
import { EntrepotError } from '../../errors.ts'
import type { Change } from '../store.ts'

/** Between the fields of rows in `commands.lua`. */
export const SEPARATOR = '\u001f'

export const identityText = ({ scheme, identifier }: PublisherIdentity): string =>
  JSON.stringify(scheme) + SEPARATOR + JSON.stringify(identifier)

/** @throws Error for text that would break the row, which JSON never does */
export function fieldText(json: string): string {
  if (json === '' || json.includes(SEPARATOR)) throw new Error('a listing field is not JSON text')
  return json
}

/** Of a listing, without its id. Rows without settlement options end before them. */
export function listingRow(record: ListingRecord): string {
  const [, ...fields] = fieldsOf(record)
  const hasOptions = record.settlementOptions !== NEW_LISTING_FIELDS.settlementOptions
  return (hasOptions ? fields : fields.slice(0, -1)).join(SEPARATOR)
}

const listingFromRow = (listingId: string, row: string): ListingRecord =>
  recordOf([listingId, ...row.split(SEPARATOR)])

export function publisherFromRow(id: string, row: string): Publisher {
  const [createdAt, updatedAt, storefrontUrl, scheme, identifier, rotations = '[]'] = row.split(SEPARATOR)
  return {
    publisherId: Number(id),
    scheme: JSON.parse(scheme!),
    identifier: JSON.parse(identifier!),
    storefrontUrl: JSON.parse(storefrontUrl!),
    createdAt: Number(createdAt),
    updatedAt: Number(updatedAt),
    rotations: JSON.parse(rotations),
  }
}

export const publisherRow = (publisher: Publisher): string =>
  [
    publisher.createdAt,
    publisher.updatedAt,
    JSON.stringify(publisher.storefrontUrl),
    identityText(publisher),
    ...(publisher.rotations.length > 0 ? [JSON.stringify(publisher.rotations)] : []),
  ].join(SEPARATOR)

export const replacedRow = (publisherId: number, rotation: Rotation): string =>
  [publisherId, activeUntil(rotation)].join(SEPARATOR)

export function apiKeyFromRow(id: string, row: string): ApiKey {
  const [createdAt, revokedAt, name, scope, hash, expiresAt = 'null', view = 'null'] = row.split(SEPARATOR)
  return {
    id: Number(id),
    name: JSON.parse(name!),
    scope: scope as ApiKey['scope'],
    hash: JSON.parse(hash!),
    createdAt: Number(createdAt),
    expiresAt: JSON.parse(expiresAt),
    view: JSON.parse(view),
    revokedAt: JSON.parse(revokedAt!),
  }
}

export const apiKeyRow = ({ createdAt, revokedAt, name, scope, hash, expiresAt, view }: ApiKey): string =>
  [
    createdAt,
    revokedAt ?? 'null',
    JSON.stringify(name),
    scope,
    JSON.stringify(hash),
    expiresAt ?? 'null',
    JSON.stringify(view),
  ].join(SEPARATOR)

export function blockFromRow(id: string, row: string): Block {
  const [createdAt, endedAt, until, content] = row.split(SEPARATOR)
  return {
    ...JSON.parse(content!),
    id: Number(id),
    createdAt: Number(createdAt),
    until: JSON.parse(until!),
    endedAt: JSON.parse(endedAt!),
  }
}

export const blockRow = ({ id: _, createdAt, endedAt, until, ...content }: Block): string =>
  [createdAt, endedAt ?? 'null', until ?? 'null', JSON.stringify(content)].join(SEPARATOR)

/** @throws EntrepotError `internal` for a publisher, a key or a block without its row: none is ever removed */
export function changeFromRow(kind: string, id: string, row: string | null): Change {
  if (row === null && kind === 'listing') return { kind: 'listing_removed', listingId: id }
  if (row === null) throw incomplete(`${kind} ${id}`)
  if (kind === 'publisher') return { kind, publisher: publisherFromRow(id, row) }
  if (kind === 'key') return { kind, key: apiKeyFromRow(id, row) }
  if (kind === 'block') return { kind, block: blockFromRow(id, row) }
  return { kind: 'listing', record: listingFromRow(id, row) }
}

export const incomplete = (missing: string): EntrepotError =>
  new EntrepotError('internal', `Redis lacks ${missing}: restore a backup`)

/** Leaves out listings that were removed, or removed and published again, after `ids` were read. */
export function packListings(
  ids: readonly string[],
  rows: readonly (Buffer | null)[],
  last: Micros,
): PackedListings {
  const bytes = Buffer.allocUnsafeSlow(ids.reduce((sum, id, n) => sum + mostBytes(id, rows[n]!), 0))
  let count = 0
  let end = 0
  for (const [n, id] of ids.entries()) {
    const row = rows[n]!
    if (row === null || createdAt(row) > last) continue
    end += bytes.write(id, end)
    bytes[end++] = FIELD_END
    end += row.copy(bytes, end)
    bytes[end++] = LISTING_END
    count++
  }
  return { count, bytes: bytes.subarray(0, end) }
}

const MOST_BYTES_PER_CHARACTER = 3

const mostBytes = (id: string, row: Buffer | null): number =>
  row === null ? 0 : id.length * MOST_BYTES_PER_CHARACTER + row.length + 2

function createdAt(row: Buffer): Micros {
  const status = row.indexOf(FIELD_END) + 1
  const start = row.indexOf(FIELD_END, status) + 1
  return Number(row.toString('latin1', start, row.indexOf(FIELD_END, start)))
}
