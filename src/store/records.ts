import type { ApiKey } from '../domain/api-key.ts'
import type { Block } from '../domain/block.ts'
import { listingFrom } from '../domain/listing-row.ts'
import type { Publisher, PublisherIdentity } from '../domain/publisher.ts'
import type { Micros } from '../domain/timestamp.ts'
import { damagedRow } from '../errors.ts'
import type { Change } from './commands.ts'
import type { Row } from './rows.ts'

// What other rows than those of listings hold, without what the row itself says: key, time of creation and time of the latest change.

export const identityKey = ({ scheme, identifier }: PublisherIdentity): string =>
  `identity ${JSON.stringify([scheme, identifier])}`

// Of rows of the space `registry`.
export const publisherKey = (id: number): string => `publisher ${id}`
export const apiKeyKey = (id: number): string => `key ${id}`
export const blockKey = (id: number): string => `block ${id}`

type PublisherContent = Omit<Publisher, 'publisherId' | 'createdAt' | 'updatedAt'>
type ApiKeyContent = Omit<ApiKey, 'id' | 'createdAt'>
type BlockContent = Omit<Block, 'id' | 'createdAt'>

export const publisherText = ({ scheme, identifier, storefrontUrl, rotations }: PublisherContent): string =>
  JSON.stringify({ scheme, identifier, storefrontUrl, rotations })

export const apiKeyText = ({ name, scope, hash, expiresAt, view, revokedAt }: ApiKeyContent): string =>
  JSON.stringify({ name, scope, hash, expiresAt, view, revokedAt })

export const blockText = ({ subject, source, reason, by, until, endedAt }: BlockContent): string =>
  JSON.stringify({ subject, source, reason, by, until, endedAt })

export const publisherFrom = (row: Row): Publisher => {
  const { id, createdAt, ...content } = partsOf<PublisherContent>(row)
  return { publisherId: id, ...content, createdAt, updatedAt: row.at } as Publisher
}

export const apiKeyFrom = (row: Row): ApiKey => partsOf<ApiKeyContent>(row)

export const blockFrom = (row: Row): Block => partsOf<BlockContent>(row)

/** @throws EntrepotError as `damagedRow` */
export function changeFrom(row: Row): Change {
  if (row.space === 'removed') return { kind: 'listing_removed', listingId: row.key }
  if (row.space === 'listings') return { kind: 'listing', record: listingFrom(row) }
  const kind = kindOf(row)
  if (kind === 'publisher') return { kind, publisher: publisherFrom(row) }
  if (kind === 'key') return { kind, key: apiKeyFrom(row) }
  if (kind === 'block') return { kind, block: blockFrom(row) }
  throw damagedRow(row.space, row.key)
}

export const kindOf = ({ key }: Pick<Row, 'key'>): string => key.slice(0, key.indexOf(' '))

/** @throws EntrepotError as `damagedRow` */
function partsOf<Content>({
  space,
  key,
  value,
  createdAt,
}: Row): Content & { id: number; createdAt: Micros } {
  try {
    return { id: Number(key.slice(key.indexOf(' ') + 1)), ...JSON.parse(value), createdAt }
  } catch (cause) {
    throw damagedRow(space, key, cause)
  }
}
