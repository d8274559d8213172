import { isSameListing } from '../../domain/listing-identity.ts'
import { includes, type MissingSource } from '../../domain/missing-source.ts'
import type { Item, Origin } from '../../domain/reading.ts'
import type { PersistedMissing, SavedSnapshot } from '../../domain/saved-snapshot.ts'

/** By key. */
type Listings = ReadonlyMap<string, Item>

/**
 * Adds earlier listings of missing sources, marked stale, up to `most` in all: they were not reported as
 * deleted.
 */
export function retainUnreachable(
  held: Listings,
  { listings: pulled, missing }: { listings: Listings; missing: readonly MissingSource[] },
  most: number,
): Listings {
  const listings = new Map(pulled)
  const byId = Map.groupBy(pulled.values(), ({ listingId }) => listingId)
  for (const [key, item] of held) {
    if (listings.size >= most) break
    const { listingId, origin } = item
    const copies = byId.get(listingId) ?? []
    if (origin === undefined || pulled.has(key) || copies.some((copy) => isSameListing(copy, item))) continue
    if (missing.some((entry) => mayHave(entry, origin)))
      listings.set(key, { ...item, origin: { ...origin, stale: true } })
  }
  return listings
}

/** `heardAt`: when the held listings were pulled, or earlier if the source was missing then. */
export function lastHeardOf(
  entry: MissingSource,
  held: Pick<SavedSnapshot, 'takenAt' | 'missing'> | null,
): PersistedMissing {
  if (held === null) return entry
  const before =
    held.missing?.filter((other) => includes(other, entry.registry) || includes(entry, other.registry)) ?? []
  if (before.some(({ heardAt }) => heardAt === undefined)) return entry
  return { ...entry, heardAt: Math.min(held.takenAt, ...before.map(({ heardAt = 0 }) => heardAt)) }
}

function mayHave(entry: MissingSource, { registry, alsoIn }: Origin): boolean {
  return [registry, ...alsoIn].some((name) => includes(entry, name))
}
