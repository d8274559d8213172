import { covers, type Gap } from '../domain/gap.ts'
import { isSameListing } from '../domain/merge.ts'
import type { Item, Origin } from '../domain/page.ts'
import type { HeldGap, SavedSnapshot } from '../domain/saved-snapshot.ts'

/** What is held of a gateway, by `listingKey`. */
type Listings = ReadonlyMap<string, Item>

/**
 * A pull with what it could not have held: of the Registries that the gateway has not reached, the listings that were
 * held before, each marked as stale, since nobody has said that they are gone. Not more than `most` in all.
 */
export const carriedOver = (
  held: Listings,
  { listings: pulled, gaps }: { listings: Listings; gaps: readonly Gap[] },
  most: number,
): Listings => {
  const listings = new Map(pulled)
  const byId = Map.groupBy(pulled.values(), ({ listingId }) => listingId)
  for (const [key, item] of held) {
    if (listings.size >= most) break
    const { listingId, origin } = item
    const copies = byId.get(listingId) ?? []
    if (origin === undefined || pulled.has(key) || copies.some((copy) => isSameListing(copy, item))) continue
    if (gaps.some((gap) => mayHave(gap, origin)))
      listings.set(key, { ...item, origin: { ...origin, stale: true } })
  }
  return listings
}

/** It was heard of last when what is held was pulled, or where it was missing then, too, even before. */
export const sinceWhen = (gap: Gap, held: Pick<SavedSnapshot, 'takenAt' | 'gaps'> | null): HeldGap => {
  if (held === null) return gap
  const before =
    held.gaps?.filter((other) => covers(other, gap.registry) || covers(gap, other.registry)) ?? []
  if (before.some(({ heardAt }) => heardAt === undefined)) return gap
  return { ...gap, heardAt: Math.min(held.takenAt, ...before.map(({ heardAt = 0 }) => heardAt)) }
}

const mayHave = (gap: Gap, { registry, alsoIn }: Origin): boolean =>
  [registry, ...alsoIn].some((name) => covers(gap, name))
