import type { ListingQuery } from '../../domain/query.ts'
import type { Reader } from '../../domain/reader.ts'
import type { HeldCopy } from '../../domain/source/held.ts'
import type { NamedSource } from '../../domain/source/named-source.ts'
import { hasPassed, type Item } from '../../domain/source/reading.ts'
import { matchesAll } from '../../filter-spec/evaluate.ts'
import { documentOf } from '../../listing-index/document-reader.ts'
import { decide } from '../authority.ts'
import { CopiesOfId } from '../copies-of-id.ts'
import { type Copy, decidingView, queryIn } from '../deciders.ts'
import { heldCopies } from '../holdings.ts'
import { publisherInBetter } from '../known-publisher.ts'
import { type MergedItem, mergeItem } from '../merged-item.ts'
import { keyOf } from './held-copy.ts'

/** What one reader is shown of one query, as far as it is in memory. */
export type ChangesView = {
  reader: Reader
  query: ListingQuery
  /** All that the reader may see and asks for, by rank. */
  ranked: readonly NamedSource[]
}

/** Whether changes of the source are known here. */
export function isFollowed({ held }: NamedSource, query: ListingQuery): boolean {
  return held.failure(query) === null && held.coverage() !== 'loading'
}

/** Names of sources that may have listings which are not known here. @param end the first rank that does not count */
export function notFollowedIn({ ranked, query }: ChangesView, end = ranked.length): string[] {
  return ranked.slice(0, end).flatMap((source) => (isWhole(source, query) ? [] : [source.name]))
}

function isWhole(source: NamedSource, query: ListingQuery): boolean {
  return isFollowed(source, query) && source.held.coverage() === 'whole'
}

/** What `GET /listings` shows of one id, by key: the rule of `authority.ts` over the copies in memory. */
export function shownListings(view: ChangesView, listingId: string): Map<string, MergedItem> {
  const { ranked, query } = view
  const copies = copiesIn(view, listingId)
  if (copies.length === 0) return new Map()
  const { has } = decidingView(query.standing)
  const ofId = new CopiesOfId(copies, query.status, ({ item, rank }) => has(item, ranked[rank]!.name))
  const shown = decideIn(view, copies).filter(
    ({ isShown, decider }) => isShown && !hasPassed(decider.item, query.via),
  )
  return new Map(
    shown.map(({ decider: { item, rank } }) => {
      const verdict = {
        ...publisherInBetter(ranked, { item, rank }, query.standing, (n) => isWhole(ranked[n]!, query)),
        otherCopies: ofId.openOthersOf(item, rank),
        isConflict: ofId.hasOther(item, rank),
        unchecked: notFollowedIn(view, rank),
      }
      const merged = mergeItem(item, { ranked, rank, isStale: false }, verdict)
      return [keyOf(item, ranked[rank]!.name), merged]
    }),
  )
}

/** Whether the listing of that key was shown while one source had another copy of it, or none. */
export function wasShown(
  view: ChangesView,
  { listingId, key, source }: { listingId: string; key: string; source: string },
  before: HeldCopy | null,
): boolean {
  const rank = view.ranked.findIndex(({ name }) => name === source)
  const isOwn = view.ranked[rank]!.mode === 'local'
  const others = copiesIn(view, listingId).filter(
    (copy) => copy.rank !== rank || keyOf(copy.item, source) !== key,
  )
  const copies = before === null ? others : [...others, { ...before, rank, isOwn }]
  return decideIn(view, copies).some(
    ({ decider, isShown }) => isShown && keyOf(decider.item, view.ranked[decider.rank]!.name) === key,
  )
}

function copiesIn({ ranked, query }: ChangesView, listingId: string): Copy[] {
  return ranked.flatMap((source, rank) =>
    isFollowed(source, query) ? heldCopies(source, rank, listingId) : [],
  )
}

function decideIn({ query, ranked }: ChangesView, copies: readonly Copy[]) {
  const { has } = decidingView(query.standing)
  return decide(copies, {
    status: query.status,
    matches: ({ item, rank }) =>
      has(item, ranked[rank]!.name) &&
      (query.publisher === null || item.publisher === query.publisher) &&
      matches(item, queryIn(query, ranked[rank]!.name)),
  })
}

function matches(
  { bytes }: Item,
  { criteria, priceLimit }: Pick<ListingQuery, 'criteria' | 'priceLimit'>,
): boolean {
  if (criteria.length === 0 && priceLimit === undefined) return true
  return matchesAll(criteria, documentOf(bytes), priceLimit)
}
