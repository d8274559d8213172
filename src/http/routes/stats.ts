import { z } from 'zod'
import { LISTING_STATUSES } from '../../domain/listing.ts'
import type { Replica } from '../../registry/replica.ts'
import { listingStatusSchema } from '../../wire/listing.ts'
import { json, type Route } from '../route.ts'

const stats = z
  .object({
    publisher_count: z.int(),
    order_count: z.int().describe('Listings of every status'),
    orders_by_status: z.record(listingStatusSchema, z.int()),
  })
  .meta({ id: 'Stats' })

export const statsRoutes = (replica: Replica): Route[] => [
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
