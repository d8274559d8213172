import type { ChangelogPosition } from '../store/commands.ts'
import type { Store } from '../store/store.ts'

const BATCH = 250

/**
 * Ids of the listings that have changed since a position of the changelog; `lost` where it does not reach back, or a
 * storefront has moved, which changes all listings of a publisher.
 */
export async function changedSince(
  store: Pick<Store, 'changesAfter'>,
  from: ChangelogPosition,
): Promise<readonly string[] | 'lost'> {
  const listingIds = new Set<string>()
  for (let position = from; ; ) {
    const read = await store.changesAfter(position, BATCH)
    if (read === 'lost') return 'lost'
    for (const change of read.changes) {
      if (change.kind === 'listing') listingIds.add(change.record.listingId)
      if (change.kind === 'listing_removed') listingIds.add(change.listingId)
      if (change.kind === 'publisher' && change.publisher.updatedAt > change.publisher.createdAt)
        return 'lost'
    }
    position = read.position
    if (!read.hasMore) return [...listingIds]
  }
}
