import { LISTING_STATUSES, type ListingStatus } from '../domain/listing.ts'
import type { Publisher } from '../domain/publisher.ts'
import { NO_FILTER, type StandingFilter } from '../domain/query.ts'
import { maySee, type Reader } from '../domain/reader.ts'
import { criteriaIn } from '../filter-spec/filter.ts'
import type { Projection } from './projection.ts'

/** The local Registry's publishers and listings, as far as they exist for a reader. */
export type RegistryView = {
  /** In the order of their first listing, oldest first. */
  publishers: ReadonlyMap<number, Publisher>
  counts: Readonly<Record<ListingStatus, number>>
}

/** `null` for a reader that does not see the local Registry. A publisher without a listing in the view does not exist. */
export function registryView(projection: Projection, reader: Reader, name: string): RegistryView | null {
  if (!maySee(reader, { name })) return null
  const { listings, publishers } = projection
  if (reader.filter.key === '') return { publishers, counts: countEach((status) => listings.count(status)) }
  const criteria = criteriaIn(reader.filter.criteria, name)
  const matches = (status: ListingStatus | null) => listings.matches({ status, publisherId: null, criteria })
  const ids = new Set(
    matches(null)
      .rows()
      .map(({ publisherId }) => publisherId),
  )
  return {
    publishers: new Map([...publishers].filter(([id]) => ids.has(id))),
    counts: countEach((status) => matches(status).total),
  }
}

export function knowsPublisher(
  projection: Projection,
  identifier: string,
  { reader, name }: { reader: Reader; name: string },
): boolean {
  const publisher = projection.publisherNamed(identifier)
  return (
    publisher !== null &&
    registryView(projection, reader, name)?.publishers.has(publisher.publisherId) === true
  )
}

/** `undefined` for a publisher without a listing in the view. @param name of the local Registry */
export function storefrontInView(
  projection: Projection,
  identifier: string,
  { name, standing = NO_FILTER }: { name: string; standing: StandingFilter | undefined },
): string | null | undefined {
  const publisher = projection.publisherNamed(identifier)
  if (publisher === null || standing.criteria.length === 0) return publisher?.storefrontUrl
  const criteria = criteriaIn(standing.criteria, name)
  const { publisherId } = publisher
  const { total } = projection.listings.matches({ status: null, publisherId, criteria })
  return total === 0 ? undefined : publisher.storefrontUrl
}

function countEach(count: (status: ListingStatus) => number): Record<ListingStatus, number> {
  return Object.fromEntries(LISTING_STATUSES.map((status) => [status, count(status)])) as Record<
    ListingStatus,
    number
  >
}
