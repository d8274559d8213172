import { differ, groupCopies, type MergedItem, shownName } from '../domain/merge.ts'
import type { Item } from '../domain/page.ts'
import { SourceError } from '../domain/source-error.ts'
import { copyKey } from './copy-key.ts'
import type { Outcome } from './fan-out.ts'
import type { History } from './history.ts'
import { claimsOf } from './namesakes.ts'
import { type Place, placeIn, rankSources } from './place.ts'

export type FirstPage = {
  /** All listings up to the end of the page. */
  shown: readonly MergedItem[]
  outcomes: readonly Outcome[]
  /** Whether a place is still to be visited. */
  isBehind: (place: Place) => boolean
}

/**
 * Marks, behind a page that was asked for by offset, what is known of the listings shown but is not said by the copies
 * that were, and the copies that were passed by, just as the merge told listings apart.
 * @returns keys of the copies that were passed by and cannot be found out again: see `Standing`
 */
export const markOthers = (history: History, { shown, outcomes, isBehind }: FirstPage): string[] => {
  const items = new Set(shown.map(({ item }) => item))
  const ranks = rankSources(outcomes.map(({ source }) => source))
  const answers = outcomes.flatMap((outcome) => answerOf(outcome, ranks)).sort((a, b) => a.rank - b.rank)
  const at = shown.length - 1
  const passed: string[] = []
  for (const copies of contested(answers, shown, isBehind).values()) {
    for (const group of groupCopies(copies)) {
      const one = group.find(({ item }) => items.has(item))
      if (one === undefined) passed.push(...markPassed(history, group, isBehind, at))
      else markKnown(history, group, one.item, at)
    }
  }
  return passed
}

/** Who is known to have published it by the copy at the same storefront is told first: then the others are hers. */
const markKnown = (history: History, group: readonly Copy[], shown: Item, at: number): void => {
  const isElsewhere = ({ item }: Copy): number => (item.storefrontUrl === shown.storefrontUrl ? 0 : 1)
  for (const { item } of group.toSorted((a, b) => isElsewhere(a) - isElsewhere(b))) {
    const isNews = item.publisher !== shown.publisher || item.storefrontUrl !== shown.storefrontUrl
    if (isNews) history.add(item, { at, isShown: true })
  }
}

const markPassed = (
  history: History,
  group: readonly Copy[],
  isBehind: FirstPage['isBehind'],
  at: number,
): string[] => {
  const isToCome = ({ item, rank }: Copy): boolean => isBehind(placeIn(item, rank))
  const keys: string[] = []
  for (const copy of group) {
    if (isToCome(copy)) continue
    const { item, rank, source } = copy
    const better = group.filter((other) => other.rank < rank && isToCome(other))
    history.add(item, {
      at,
      isShown: false,
      carrier: { rank, name: shownName(source, item) },
      claims: claimsOf(better),
      differs: better.some((other) => differ(item, other.item)),
    })
    if (!better.some(({ isOfWhole }) => isOfWhole)) keys.push(copyKey(item))
  }
  return keys
}

type Answer = {
  source: string
  rank: number
  isOfWhole: boolean
  items: readonly Item[]
  find: (listingId: string) => readonly Item[]
}

type Copy = Pick<Answer, 'source' | 'rank' | 'isOfWhole'> & { item: Item }

const answerOf = ({ source, result }: Outcome, ranks: ReadonlyMap<string, number>): Answer[] => {
  if (result instanceof SourceError) return []
  const { items, behind = [], find } = result
  return [
    {
      source: source.name,
      rank: ranks.get(source.name) ?? 0,
      isOfWhole: find !== undefined,
      items: behind.length === 0 ? items : [...items, ...behind],
      find: (listingId) => find?.(listingId, items) ?? [],
    },
  ]
}

/** The copies, in the order of their ranks, of every id of which more is known than that it was shown. */
const contested = (
  sources: readonly Answer[],
  shown: readonly MergedItem[],
  isBehind: FirstPage['isBehind'],
): Map<string, Copy[]> => {
  const byId = new Map<string, Copy[]>()
  const plain = new Set<string>()
  for (const { item, alsoIn, conflict } of shown) {
    if (alsoIn.length === 0 && !conflict) plain.add(item.listingId)
    else byId.set(item.listingId, [])
  }
  for (const { items, rank } of sources) {
    for (const item of items) {
      if (isBehind(placeIn(item, rank))) break
      if (!plain.has(item.listingId)) byId.set(item.listingId, [])
    }
  }
  for (const { source, rank, isOfWhole, items, find } of sources) {
    for (const item of items) byId.get(item.listingId)?.push({ item, source, rank, isOfWhole })
    for (const [listingId, copies] of byId)
      for (const item of find(listingId)) copies.push({ item, source, rank, isOfWhole })
  }
  return byId
}
