import type { ListingStatus } from '../domain/listing.ts'
import type { Publisher } from '../domain/publisher.ts'
import { publisherOf } from '../signing/principal.ts'
import type { Projection } from './projection.ts'

/** What of the local Registry's listings exists for a reader, as the market says. */
export type ShownListings = {
  counts: Readonly<Record<ListingStatus, number>>
  /** Ids of publishers with a listing that is shown; `null`: nothing is left out of the Registry. */
  publisherIds: ReadonlySet<number> | null
  /** Whether publishers without any listing exist, unless the operator denies them. */
  hasIdle: boolean
  deniesPublisher: (publisher: string) => boolean
}

/** The local Registry's publishers and listings, as far as they exist for a reader. */
export type RegistryView = {
  /** In the order of their first listing, oldest first. */
  publishers: ReadonlyMap<number, Publisher>
  counts: Readonly<Record<ListingStatus, number>>
}

/** A publisher exists with a listing in the view, and without any listing where the view has no filter, unless the operator denies it. */
export function registryView(
  { publishers, index }: Pick<Projection, 'publishers' | 'index'>,
  { counts, publisherIds, hasIdle, deniesPublisher }: ShownListings,
): RegistryView {
  if (publisherIds === null) return { publishers, counts }
  const isIdle = (id: number, publisher: Publisher): boolean =>
    hasIdle &&
    Iterator.from(index.sellers.lanesOf(id)).next().done === true &&
    !deniesPublisher(publisherOf(publisher))
  return {
    publishers: new Map([...publishers].filter(([id, one]) => publisherIds.has(id) || isIdle(id, one))),
    counts,
  }
}

export function knowsPublisher(
  projection: Projection,
  identifier: string,
  shown: ShownListings | null,
): boolean {
  const publisher = projection.publisherNamed(identifier)
  if (publisher === null || shown === null) return false
  return registryView(projection, shown).publishers.has(publisher.publisherId)
}
