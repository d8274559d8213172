import type { MergedItem } from '../domain/merge.ts'
import { SourceError } from '../domain/source-error.ts'
import { copyKey } from './copy-key.ts'
import type { MergedAnswer, Outcome } from './fan-out.ts'
import { History } from './history.ts'
import { markOthers } from './mark-others.ts'
import { comparePlaces, type Place, placeIn, placeOf, rankSources } from './place.ts'
import { type Span, STRETCH } from './track.ts'
import type { Standing } from './walk.ts'

/**
 * Where a walk stands behind a page that was asked for by `offset`, and what it has seen: all that lies before the end
 * of the page counts as shown. Copies that stand there too, and whose listings do not, were passed by.
 */
export const standingBehind = (
  { items, shown, outcomes }: Pick<MergedAnswer, 'items' | 'shown' | 'outcomes'>,
  offset: number,
): { standing: Standing; history: History } => {
  const ranks = rankSources(outcomes.map(({ source }) => source))
  const isAlone = outcomes.length === 1
  const behind = lastCertain(items, outcomes, ranks, isAlone && offset > 0)
  const isBehind = (place: Place): boolean => comparePlaces(place, behind) > 0
  const isAhead = (merged: MergedItem): boolean => isBehind(placeOf(merged, ranks))
  const history = new History()
  for (const [at, merged] of shown.entries())
    if (!isAlone || isAhead(merged)) history.add(merged.item, { at, isShown: true })
  const standing = {
    behind,
    isCrowd: false,
    spans: spansBehind(behind, outcomes, ranks, isAlone ? offset : 0),
    nth: isAlone ? offset + items.length : shown.length,
    passed: isAlone ? [] : markOthers(history, { shown, outcomes, isBehind }),
    ahead: shown.filter(isAhead).map(({ item }) => copyKey(item)),
  }
  return { standing, history }
}

/**
 * The last place of a page up to which every copy is known. A source of which only the newest listings were read may
 * have more that belong between the last ones shown: those count as shown, and stand behind it all the same. What stood
 * before the page of a source that is alone is not known (`isWithin`), so no place before the page will do.
 */
const lastCertain = (
  items: readonly MergedItem[],
  outcomes: readonly Outcome[],
  ranks: ReadonlyMap<string, number>,
  isWithin: boolean,
): Place => {
  const last = placeOf(items.at(-1)!, ranks)
  const [foremost = last] = outcomes.flatMap((outcome) => endOf(outcome, ranks)).sort(comparePlaces)
  if (isWithin && comparePlaces(foremost, placeOf(items[0]!, ranks)) < 0) return last
  return comparePlaces(foremost, last) < 0 ? foremost : last
}

/** The place up to which all of a source is known; none where nothing more is to come. */
const endOf = ({ source, result }: Outcome, ranks: ReadonlyMap<string, number>): Place[] => {
  if (result instanceof SourceError) return []
  const { items, behind = [], total, find } = result
  const oldest = behind.at(-1) ?? items.at(-1)
  if (items.length + behind.length >= total) return []
  // Elsewhere than in memory, listings of one instant are in any order.
  if (find === undefined)
    return [{ createdAt: (oldest?.createdAt ?? 0) + 1, rank: Number.MAX_SAFE_INTEGER, listingId: '' }]
  return oldest === undefined ? [] : [placeIn(oldest, ranks.get(source.name) ?? 0)]
}

const spansBehind = (
  behind: Place,
  outcomes: readonly Outcome[],
  ranks: ReadonlyMap<string, number>,
  skipped: number,
): Record<string, Span> =>
  Object.fromEntries(
    outcomes.map(({ source, result }) => {
      if (result instanceof SourceError) return [source.name, { from: 0, to: 0 }]
      const rank = ranks.get(source.name) ?? 0
      const before = result.items.filter((item) => comparePlaces(placeIn(item, rank), behind) <= 0).length
      const passed = before + skipped
      const from = passed < STRETCH ? 0 : passed - 1
      return [
        source.name,
        { from, to: Math.max(from, skipped + result.items.length + (result.behind?.length ?? 0)) },
      ]
    }),
  )
