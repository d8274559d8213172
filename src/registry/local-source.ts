import { parseJson } from '../domain/json.ts'
import type { Item, Source } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import { matchesAll } from '../filter-spec/evaluate.ts'
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
      find: (listingId, known) => findMatch(projection, query, listingId, known),
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

/** Of whatever status and publisher the query asks for; criteria are evaluated on the one listing. */
const findMatch = (
  projection: Projection,
  { status, publisher, criteria }: ListingQuery,
  listingId: string,
  known: readonly Item[],
): readonly Item[] => {
  const row = projection.listings.get(listingId)
  if (row === undefined || (status !== null && row.status !== status)) return NONE
  if (known.some((other) => other.listingId === listingId)) return NONE
  const found = item(row, projection)
  if (publisher !== null && found.publisher !== publisher) return NONE
  return criteria.length === 0 || matchesAll(criteria, parseJson(Buffer.from(row.bytes).toString()))
    ? [found]
    : NONE
}

const NONE: readonly Item[] = []

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
