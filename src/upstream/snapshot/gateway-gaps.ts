import { isSameListing } from '../../domain/listing-identity.ts'
import type { Item } from '../../domain/source/item.ts'
import {
  addReporter,
  coversRegistry,
  MAX_MISSING,
  type MissingSource,
} from '../../domain/source/missing-source.ts'
import type { PersistedMissing } from '../../domain/source/saved-snapshot.ts'
import { isShown } from '../../wire/describe-missing.ts'
import type { FeedChange } from '../feed/feed-change.ts'
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

/** What a gateway holds in part by now: of sources that it cannot ask, the next pull says what is missing. */
export function missingAfter(
  missing: HeldSnapshot['missing'],
  change: FeedChange,
  { gatewayId }: HeldSnapshot,
): HeldSnapshot['missing'] {
  if (change.kind !== 'source' || !isShown(change.state)) return missing
  const { registry, part } = change
  const isOther = (entry: MissingSource): boolean => entry.state !== 'partial' || entry.registry !== registry
  if (part === undefined && missing?.every(isOther) !== false) return missing
  const others = missing?.filter(isOther) ?? []
  const now = part === undefined ? others : [...others, addReporter(part, gatewayId)].slice(0, MAX_MISSING)
  return now.length > 0 ? now : undefined
}

export function isHeldInPart({ origin }: Item, missing: HeldSnapshot['missing'] = []): boolean {
  return missing.some((one) => one.state === 'partial' && origin && coversRegistry(one, origin.registry))
}
