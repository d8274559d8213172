import { isSameListing } from '../../domain/listing-identity.ts'
import { includes, type MissingSource } from '../../domain/missing-source.ts'
import type { Item, Origin } from '../../domain/reading.ts'
import type { PersistedMissing, SavedSnapshot } from '../../domain/saved-snapshot.ts'

/** Listings of a gateway by key. */
type Listings = ReadonlyMap<string, Item>

/**
 * A pull together with what it cannot contain: the listings held before of Registries that the gateway has not reached,
 * marked stale, since no Registry has said that they are gone. At most `most` in all.
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

/** When a missing source was last heard of: when the held listings were pulled, or before that if it was missing then. */
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
