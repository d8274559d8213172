import type { Item, Source } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { IndexRow } from '../listing-index/listing-index.ts'
import type { Projection } from './projection.ts'
import type { Replica } from './replica.ts'

/** The Registry's own listings, from memory: never fails, never stale. */
export const localSource =
  (replica: Replica): Source =>
  async (query) => {
    const { projection } = replica
    const { rows, total } =
      query.listingId === undefined ? queryLocal(projection, query) : findLocal(projection, query.listingId)
    const { version } = projection.listings
    return {
      items: rows.map((row) => item(row, projection)),
      total,
      ageSeconds: 0,
      stale: false,
      isCurrent: () => replica.projection === projection && projection.listings.version === version,
    }
  }

/** Rows as they stand in the index; none for a publisher that was never seen. */
export const queryLocal = (
  projection: Projection,
  { status, publisher, criteria, limit, offset }: ListingQuery,
): { rows: IndexRow[]; total: number } => {
  const publisherId = publisher === null ? null : projection.publisherOf(publisher)?.publisherId
  if (publisherId === undefined) return { rows: [], total: 0 }
  return projection.listings.query({ status, publisherId, criteria, limit, offset })
}

const findLocal = (projection: Projection, listingId: string): { rows: IndexRow[]; total: number } => {
  const row = projection.listings.get(listingId)
  return row === undefined ? { rows: [], total: 0 } : { rows: [row], total: 1 }
}

const item = ({ bytes, listingId, createdAt, publisherId }: IndexRow, projection: Projection): Item => {
  const publisher = projection.publisher(publisherId)
  return {
    bytes,
    listingId,
    createdAt,
    storefrontUrl: publisher?.storefrontUrl ?? null,
    publisher: publisher?.identifier ?? null,
  }
}
