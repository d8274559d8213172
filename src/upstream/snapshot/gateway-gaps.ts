import { isSameListing } from '../../domain/listing-identity.ts'
import type { Item } from '../../domain/source/item.ts'
import { coversRegistry, type MissingSource } from '../../domain/source/missing-source.ts'
import type { PersistedMissing } from '../../domain/source/saved-snapshot.ts'
import type { Pull } from './pull.ts'
import { MAX_COPIES } from './snapshot.ts'
import type { HeldSnapshot } from './snapshot-state.ts'

/**
 * Adds earlier listings of missing sources, marked stale: they were not reported as deleted. What a gateway holds in part
 * has none that are missing.
 */
export function retainUnreachable(
  before: Iterable<readonly [key: string, item: Item]>,
  { listings: pulled, missing: reported = [] }: Pick<Pull, 'listings' | 'missing'>,
): Pull['listings'] {
  const missing = reported.filter(({ state }) => state !== 'partial')
  if (missing.length === 0) return pulled
  const listings = new Map(pulled)
  const byId = Map.groupBy(pulled.values(), ({ listingId }) => listingId)
  for (const [key, item] of before) {
    const { listingId, origin } = item
    const copies = byId.get(listingId) ?? []
    if (origin === undefined || pulled.has(key) || copies.length >= MAX_COPIES) continue
    if (copies.some((copy) => isSameListing(copy, item))) continue
    const isUnreachable = missing.some((entry) =>
      [origin.registry, ...origin.alsoIn].some((name) => coversRegistry(entry, name)),
    )
    if (!isUnreachable) continue
    listings.set(key, { ...item, origin: { ...origin, stale: true } })
    byId.set(listingId, [...copies, item])
  }
  return listings
}

/** `heardAt`: when the current listings were pulled, or earlier if the source was missing then. */
export function withLastContact(entry: MissingSource, current: HeldSnapshot | null): PersistedMissing {
  if (current === null || entry.state === 'partial') return entry
  const { takenAt, missing = [] } = current
  const before = missing.filter(
    (other) => coversRegistry(other, entry.registry) || coversRegistry(entry, other.registry),
  )
  if (before.some(({ heardAt }) => heardAt === undefined)) return entry
  return { ...entry, heardAt: Math.min(takenAt, ...before.map(({ heardAt = 0 }) => heardAt)) }
}
