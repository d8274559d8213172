import type { Publisher } from '../domain/publisher.ts'
import { formatTimestamp } from '../domain/timestamp.ts'
import { EntrepotError } from '../errors.ts'
import type { Replica } from '../registry/replica.ts'
import { type Handler, json } from './exchange.ts'
import { readPaging, readPathInteger } from './parameters.ts'

/** `GET /publishers`: newest first, or the one with an identifier (`protocol.md` 1.10). */
export const listPublishers =
  (replica: Replica): Handler =>
  ({ query }) => {
    const { limit, offset } = readPaging(query)
    const identifier = query.get('identifier')
    const found =
      identifier === undefined
        ? newest(replica, offset, limit)
        : withIdentifier(replica, identifier, query.get('scheme') || 'eip191')
    return json({ items: found.map(onWire), count: found.length })
  }

/** `GET /publishers/{publisher_id}`: the bare object. */
export const getPublisher =
  (replica: Replica): Handler =>
  ({ params }) => {
    const publisher = replica.projection.publisher(readPathInteger('publisher_id', params.publisher_id))
    if (publisher === null) throw new EntrepotError('not_found', 'Publisher not found')
    return json(onWire(publisher))
  }

const newest = ({ projection }: Replica, offset: number, limit: number): Publisher[] => {
  const { publishers } = projection
  const from = publishers.size - offset - limit
  return publishers
    .values()
    .drop(Math.max(from, 0))
    .take(Math.max(limit + Math.min(from, 0), 0))
    .toArray()
    .reverse()
}

const withIdentifier = ({ projection }: Replica, identifier: string, scheme: string): Publisher[] => {
  const publisher = projection.publisherOf(
    scheme === 'eip191' ? identifier.toLowerCase() : identifier,
    scheme,
  )
  return publisher === null ? [] : [publisher]
}

const onWire = ({ publisherId, storefrontUrl, scheme, identifier, createdAt }: Publisher) => ({
  publisher_id: publisherId,
  storefront_url: storefrontUrl,
  identities: [{ scheme, identifier }],
  created_at: formatTimestamp(createdAt),
})
