import { differ, type MergedItem, shownName } from '../domain/merge.ts'
import type { Item } from '../domain/page.ts'
import { SourceError } from '../domain/source-error.ts'
import { copyKey } from './copy-key.ts'
import type { MergedAnswer, Outcome } from './fan-out.ts'
import { History } from './history.ts'
import { claimOf, claimsOf, Namesakes } from './namesakes.ts'
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
  const history = new History()
  const ahead: string[] = []
  for (const [at, merged] of shown.entries()) {
    const isAhead = isBehind(placeOf(merged, ranks))
    if (isAhead) ahead.push(copyKey(merged.item))
    if (isAhead || !isAlone) history.add(merged.item, { at, isShown: true })
  }
  const standing = {
    behind,
    isCrowd: false,
    spans: spansBehind(behind, outcomes, ranks, isAlone ? offset : 0),
    nth: isAlone ? offset + items.length : shown.length,
    passed: isAlone ? [] : passBy(outcomes, ranks, isBehind, history, shown.length - 1),
    ahead,
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

type Found = { item: Item; rank: number; outcome: Outcome; isOfWhole: boolean }

/** Marks the copies that stand before the place and whose listings have not been shown. @returns their keys */
const passBy = (
  outcomes: readonly Outcome[],
  ranks: ReadonlyMap<string, number>,
  isBehind: (place: Place) => boolean,
  history: History,
  at: number,
): string[] => {
  const copies = outcomes.flatMap((outcome) => copiesIn(outcome, ranks.get(outcome.source.name) ?? 0))
  const before = copies
    .filter(({ item, rank }) => !isBehind(placeIn(item, rank)))
    .sort((a, b) => comparePlaces(placeIn(a.item, a.rank), placeIn(b.item, b.rank)))
  const passed: string[] = []
  for (const { item, rank, outcome } of before) {
    const namesakes = new Namesakes(history.of(item.listingId))
    const isNews = namesakes.isNews(item, claimOf(item, rank))
    const listing = namesakes.add(item, claimOf(item, rank))
    if (listing.isShown) {
      if (isNews) history.add(item, { at, isShown: true })
      continue
    }
    const better = [
      ...copies.filter((copy) => copy.item.listingId === item.listingId),
      ...found(outcomes, ranks, item),
    ]
      .filter((copy) => copy.rank < rank && isBehind(placeIn(copy.item, copy.rank)))
      .filter((copy) => namesakes.add(copy.item, claimOf(copy.item, copy.rank)) === listing)
    const carrier = { rank, name: shownName(outcome.source.name, item) }
    history.add(item, {
      at,
      isShown: false,
      carrier,
      claims: claimsOf(better),
      differs: better.some((copy) => differ(item, copy.item)),
    })
    if (!better.some(({ isOfWhole }) => isOfWhole)) passed.push(copyKey(item))
  }
  return passed
}

const copiesIn = (outcome: Outcome, rank: number): Found[] => {
  const { result } = outcome
  if (result instanceof SourceError) return []
  const isOfWhole = result.find !== undefined
  return [...result.items, ...(result.behind ?? [])].map((item) => ({ item, rank, outcome, isOfWhole }))
}

const found = (
  outcomes: readonly Outcome[],
  ranks: ReadonlyMap<string, number>,
  { listingId }: Item,
): Found[] =>
  outcomes.flatMap((outcome) => {
    const { source, result } = outcome
    if (result instanceof SourceError) return []
    const rank = ranks.get(source.name) ?? 0
    return (result.find?.(listingId, result.items) ?? []).map((item) => ({
      item,
      rank,
      outcome,
      isOfWhole: true,
    }))
  })
