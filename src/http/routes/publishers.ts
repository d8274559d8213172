import { z } from 'zod'
import type { Publisher } from '../../domain/publisher.ts'
import type { Reader } from '../../domain/reader.ts'
import { formatTimestamp } from '../../domain/timestamp.ts'
import { EntrepotError } from '../../errors.ts'
import type { Market } from '../../gateway/market.ts'
import { type RegistryView, registryView } from '../../registry/publishers-in-view.ts'
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

/** A reader may not see the local Registry. */
export const publisherRoutes = (replica: Replica, market: Pick<Market, 'ownListings'>): Route[] => [
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
    problems: [404, 422],
    handle: async ({ query, reader }) => {
      const { limit, offset } = readPaging(query)
      const identifier = query.identifier
      const view = await viewOf(replica, reader, market)
      const publishers =
        identifier === undefined
          ? newest(view, offset, limit)
          : withIdentifier(replica, view, { identifier, scheme: query.scheme || 'eip191' })
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
    handle: async ({ params, reader }) => {
      const publisherId = readIntegerParameter(PUBLISHER_ID, params.publisher_id)!
      const publisher = (await viewOf(replica, reader, market)).publishers.get(publisherId)
      if (publisher === undefined) throw new EntrepotError('not_found', 'Publisher not found')
      return json(toJson(publisher))
    },
  },
  {
    method: 'GET',
    path: '/api/v1/system/stats',
    gate: 'read',
    summary: 'Number of publishers and listings',
    responses: { 200: { description: 'Counts', schema: stats } },
    problems: [404],
    handle: async ({ reader }) => {
      const { publishers, counts } = await viewOf(replica, reader, market)
      return json({
        publisher_count: publishers.size,
        order_count: Object.values(counts).reduce((sum, count) => sum + count, 0),
        orders_by_status: counts,
      })
    },
  },
]

const PUBLISHER_ID = integerParameter('path', 'publisher_id', 'The numeric id')

/** @throws EntrepotError `not_found`: without the local Registry the route does not exist */
async function viewOf(
  { projection }: Replica,
  reader: Reader,
  market: Pick<Market, 'ownListings'>,
): Promise<RegistryView> {
  const shown = await market.ownListings({ reader })
  if (shown === null) throw new EntrepotError('not_found', 'Not Found')
  return registryView(projection, shown)
}

function newest({ publishers }: RegistryView, offset: number, limit: number): Publisher[] {
  const from = publishers.size - offset - limit
  return publishers
    .values()
    .drop(Math.max(from, 0))
    .take(Math.max(limit + Math.min(from, 0), 0))
    .toArray()
    .reverse()
}

function withIdentifier(
  { projection }: Replica,
  { publishers }: RegistryView,
  { identifier, scheme }: { identifier: string; scheme: string },
): Publisher[] {
  const publisher = projection.publisherOf({
    scheme,
    identifier: scheme === 'eip191' ? identifier.toLowerCase() : identifier,
  })
  return publisher !== null && publishers.has(publisher.publisherId) ? [publisher] : []
}

const toJson = ({ publisherId, storefrontUrl, scheme, identifier, createdAt }: Publisher) => ({
  publisher_id: publisherId,
  storefront_url: storefrontUrl,
  identities: [{ scheme, identifier }],
  created_at: formatTimestamp(createdAt),
})
