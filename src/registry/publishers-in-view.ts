import { LISTING_STATUSES, type ListingStatus } from '../domain/listing.ts'
import type { Publisher } from '../domain/publisher.ts'
import { bothFilters, type HiddenRows, NO_FILTER, type StandingFilter } from '../domain/query.ts'
import { maySee, type Reader } from '../domain/reader.ts'
import type { Within } from '../domain/source/named-source.ts'
import { criteriaIn } from '../filter-spec/filter.ts'
import { publisherOf } from '../signing/principal.ts'
import type { Projection } from './projection.ts'

/** The local Registry's publishers and listings, as far as they exist for a reader. */
export type RegistryView = {
  /** In the order of their first listing, oldest first. */
  publishers: ReadonlyMap<number, Publisher>
  counts: Readonly<Record<ListingStatus, number>>
}

/** What the operator leaves out of the own Registry. */
type LocalDenials = {
  only: StandingFilter
  rows: HiddenRows
  deniesPublisher: (publisher: string) => boolean
}

/** The own Registry, as a source: its name, and what is left out of it. */
type LocalName = { name: string; denials: LocalDenials | null }

/**
 * `null` for a reader that does not see the local Registry. A publisher exists with a listing in the view, and without any listing where
 * the view has no filter, unless the operator denies it.
 */
export function registryView(
  projection: Projection,
  reader: Reader,
  { name, denials }: LocalName,
): RegistryView | null {
  if (!maySee(reader, { name })) return null
  const { listings, publishers } = projection
  const standing = standingIn(bothFilters(reader.filter, denials?.only ?? NO_FILTER), name)
  if (standing.criteria.length === 0 && denials === null)
    return { publishers, counts: countEach((status) => listings.count(status)) }
  const denied = denials === null ? [] : [denials.rows]
  const matches = (status: ListingStatus | null) =>
    listings.matches({ status, publisherId: null, criteria: [], standing, denied })
  const shown = new Set(matches(null).publisherIds())
  const selling = new Set(listings.matches({ status: null, publisherId: null, criteria: [] }).publisherIds())
  const isIdle = (id: number, publisher: Publisher): boolean =>
    standing.criteria.length === 0 &&
    !selling.has(id) &&
    denials?.deniesPublisher(publisherOf(publisher)) !== true
  return {
    publishers: new Map([...publishers].filter(([id, one]) => shown.has(id) || isIdle(id, one))),
    counts: countEach((status) => matches(status).total),
  }
}

export function knowsPublisher(
  projection: Projection,
  identifier: string,
  { reader, ...local }: LocalName & { reader: Reader },
): boolean {
  const publisher = projection.publisherNamed(identifier)
  return (
    publisher !== null &&
    registryView(projection, reader, local)?.publishers.has(publisher.publisherId) === true
  )
}

/** `undefined` for a publisher without a listing that is shown. @param name of the local Registry */
export function storefrontInView(
  projection: Projection,
  identifier: string,
  { name, standing = NO_FILTER, denied = [] }: Within & { name: string },
): string | null | undefined {
  const publisher = projection.publisherNamed(identifier)
  if (publisher === null || (standing.criteria.length === 0 && denied.length === 0))
    return publisher?.storefrontUrl
  const { publisherId, storefrontUrl } = publisher
  const asked = { status: null, publisherId, criteria: [] }
  const within = { standing: standingIn(standing, name), denied }
  if (projection.listings.matches({ ...asked, ...within }).total > 0) return storefrontUrl
  const isIdle = standing.criteria.length === 0 && projection.listings.matches(asked).total === 0
  return isIdle ? storefrontUrl : undefined
}

function standingIn(standing: StandingFilter, name: string): StandingFilter {
  return { ...standing, criteria: criteriaIn(standing.criteria, name) }
}

function countEach(count: (status: ListingStatus) => number): Record<ListingStatus, number> {
  return Object.fromEntries(LISTING_STATUSES.map((status) => [status, count(status)])) as Record<
    ListingStatus,
    number
  >
}
