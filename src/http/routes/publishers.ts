import { z } from 'zod'
import { LISTING_STATUSES } from '../../domain/listing.ts'
import type { Publisher } from '../../domain/publisher.ts'
import { formatTimestamp } from '../../domain/timestamp.ts'
import { EntrepotError } from '../../errors.ts'
import type { Replica } from '../../registry/replica.ts'
import { listingStatusSchema, publisherSchema } from '../../wire/listing.ts'
import { LIMIT, OFFSET, readIntegerParameter, readPaging } from '../parameters.ts'
import { integerParameter, json, parameter, type Route } from '../route.ts'

const publisherEnvelope = z
  .object({ items: z.array(publisherSchema), count: z.int() })
  .meta({ id: 'PublisherEnvelope' })

const stats = z
  .object({
    publisher_count: z.int(),
    order_count: z.int().describe('Listings of every status'),
    orders_by_status: z.record(listingStatusSchema, z.int()),
  })
  .meta({ id: 'Stats' })

export const publisherRoutes = (replica: Replica): Route[] => [
  {
    method: 'GET',
    path: '/publishers',
    gate: 'read',
    summary: 'List publishers, or find one by its address',
    description: 'Newest first. With `identifier`: the publisher that has it, or none.',
    parameters: [
      parameter('query', 'identifier', 'Signing address'),
      parameter('query', 'scheme', 'Scheme of the identifier', { default: 'eip191' }),
      LIMIT,
      OFFSET,
    ],
    responses: { 200: { description: 'A page of publishers', schema: publisherEnvelope } },
    problems: [422],
    handle: ({ query }) => {
      const { limit, offset } = readPaging(query)
      const identifier = query.identifier
      const publishers =
        identifier === undefined
          ? newest(replica, offset, limit)
          : withIdentifier(replica, identifier, query.scheme || 'eip191')
      return json({ items: publishers.map(toJson), count: publishers.length })
    },
  },
  {
    method: 'GET',
    path: '/publishers/:publisher_id',
    gate: 'read',
    summary: 'One publisher',
    parameters: [PUBLISHER_ID],
    responses: { 200: { description: 'The publisher', schema: publisherSchema } },
    problems: [404, 422],
    handle: ({ params }) => {
      const publisherId = readIntegerParameter(PUBLISHER_ID, params.publisher_id)!
      const publisher = replica.projection.publisher(publisherId)
      if (publisher === null) throw new EntrepotError('not_found', 'Publisher not found')
      return json(toJson(publisher))
    },
  },
  {
    method: 'GET',
    path: '/api/v1/system/stats',
    gate: 'read',
    summary: 'Number of publishers and listings',
    responses: { 200: { description: 'Counts', schema: stats } },
    handle: () => {
      const { listings, publishers } = replica.projection
      return json({
        publisher_count: publishers.size,
        order_count: listings.size,
        orders_by_status: Object.fromEntries(
          LISTING_STATUSES.map((status) => [status, listings.count(status)]),
        ),
      })
    },
  },
]

const PUBLISHER_ID = integerParameter('path', 'publisher_id', 'The numeric id')

function newest({ projection }: Replica, offset: number, limit: number): Publisher[] {
  const { publishers } = projection
  const from = publishers.size - offset - limit
  return publishers
    .values()
    .drop(Math.max(from, 0))
    .take(Math.max(limit + Math.min(from, 0), 0))
    .toArray()
    .reverse()
}

function withIdentifier({ projection }: Replica, identifier: string, scheme: string): Publisher[] {
  const publisher = projection.publisherOf({
    scheme,
    identifier: scheme === 'eip191' ? identifier.toLowerCase() : identifier,
  })
  return publisher === null ? [] : [publisher]
}

const toJson = ({ publisherId, storefrontUrl, scheme, identifier, createdAt }: Publisher) => ({
  publisher_id: publisherId,
  storefront_url: storefrontUrl,
  identities: [{ scheme, identifier }],
  created_at: formatTimestamp(createdAt),
})
