import type { MergedItem } from '../domain/merge.ts'
import type { Item, NamedSource } from '../domain/page.ts'
import type { Micros } from '../domain/timestamp.ts'

/** Where a listing stands in the merged sequence: by age, then by the rank of its source, then by its id. */
export type Place = { createdAt: Micros; rank: number; listingId: string }

/** Sources by priority, then by name: the order that counts between listings of one instant. */
export const rankSources = (
  sources: readonly Pick<NamedSource, 'name' | 'priority'>[],
): Map<string, number> =>
  new Map(
    sources
      .toSorted((a, b) => a.priority - b.priority || compareText(a.name, b.name))
      .map(({ name }, rank) => [name, rank]),
  )

export const placeOf = ({ item, registry }: MergedItem, ranks: ReadonlyMap<string, number>): Place =>
  placeIn(item, ranks.get(registry) ?? ranks.size)

export const placeIn = ({ createdAt, listingId }: Item, rank: number): Place => ({
  createdAt,
  rank,
  listingId,
})

/** Negative where `a` comes first. */
export const comparePlaces = (a: Place, b: Place): number =>
  b.createdAt - a.createdAt || a.rank - b.rank || compareText(a.listingId, b.listingId)

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
