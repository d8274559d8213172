import { LISTING_STATUSES } from '../domain/listing.ts'
import type { Replica } from '../registry/replica.ts'
import { type Handler, json } from './exchange.ts'

/** `GET /api/v1/system/stats`: all three statuses always (`protocol.md` 1.11). */
export const getStats =
  (replica: Replica): Handler =>
  () => {
    const { listings, publishers } = replica.projection
    return json({
      publisher_count: publishers.size,
      order_count: listings.size,
      orders_by_status: Object.fromEntries(
        LISTING_STATUSES.map((status) => [status, listings.count(status)]),
      ),
    })
  }
