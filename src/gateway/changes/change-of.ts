import { type FeedEntry, GONE, PUSHED_OUT } from '../../domain/feed-entry.ts'
import { hasKey } from '../../domain/listing-identity.ts'
import { type ListingQuery, NO_FILTER } from '../../domain/query.ts'
import { oncePerObject, remembered } from '../../domain/remembered.ts'
import type { Holding } from '../../domain/source/holding.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { matchesAll } from '../../filter-spec/evaluate.ts'
import { criteriaIn } from '../../filter-spec/filter.ts'
import type { JsonValue } from '../../json/value.ts'
import { decide } from '../../listing-index/authority.ts'
import type { Copy } from '../../listing-index/copy.ts'
import { documentOf } from '../../listing-index/document-reader.ts'
import { SourceSet } from '../../listing-index/source-set.ts'
import { askNow, byRank, nameIn, namesOf } from '../ask.ts'
import type { Asked, Asking } from '../asking.ts'
import type { MarketSettings } from '../market-settings.ts'
import { type MergedItem, mergeCopies, type Pricing } from '../pages/merged-item.ts'
import { rankSources, visibleSources } from '../sources.ts'
import { keyOf } from './copy-state.ts'
import { bitOf, goneError } from './feed-position.ts'
import { nameOf } from './log-in-memory.ts'
import type { StoredLog } from './stored-log.ts'

/** One query of one reader. `ranked`: all that the reader may see and asks for, by rank. */
export type ChangesView = Asking & { ranked: readonly Holding[] }

export function viewOf(sources: readonly Holding[], { query, request }: Asking): ChangesView {
  return { query, request, ranked: rankSources(visibleSources(sources, request)) }
}

/** What the reader is shown now of sources whose changes are known: `followed` has their names, `unknown` those not known whole. */
type ShownNow = Asked & {
  followed: ReadonlySet<string>
  /** A bit of each that could be followed and is not now: a reader without their listings reads again later. */
  missing: bigint
}

export function shownNow(settings: MarketSettings, { query, request }: ChangesView): ShownNow {
  const asked = askNow(settings, query, request)
  const { sources, ...known } = followedOf(asked.answers)
  return { ...asked, ...known, scope: { ...asked.scope, sources } }
}

const followedOf = oncePerObject((answers: Asked['answers']) => {
  const followed = new Map<string, number>()
  let missing = 0n
  for (const [n, { source, answer }] of byRank(answers).entries()) {
    if (answer instanceof SourceError || source.coverage() === 'loading') missing |= bitOf(n)
    else followed.set(source.name, answer.source)
  }
  const unknown = answers.filter(({ source }) => !followed.has(source.name) || source.coverage() !== 'whole')
  const sources = new SourceSet(followed.values())
  return { followed: new Set(followed.keys()), unknown: namesOf(unknown), missing, sources }
})

export type Change = { key: string; listingId: string; publisher: string | null } & (
  | { kind: 'listing'; merged: MergedItem }
  /** `unchecked`: sources that are not followed; one of them may have the listing. */
  | { kind: 'removed'; unchecked: readonly string[] }
)

/** `shown`: what is shown of each id, which is found once as long as nothing changes. */
type Looking = MarketSettings &
  Pricing & { stored: StoredLog; now: ShownNow; shown: Map<string, ReadonlyMap<string, MergedItem>> }

/** What a source without an answer has of a listing. */
export const UNKNOWN = Symbol('unknown')

/** `null` where the reader need not know. @throws EntrepotError `gone` where what the reader has been shown is not known */
export function changeOf(
  looking: Looking,
  view: ChangesView,
  entry: FeedEntry,
  since: number,
): Change | typeof UNKNOWN | null {
  const { key, listingId, publisher, source, state } = entry
  const { now, shown, stored } = looking
  const merged = remembered(shown, listingId, () => shownListings(looking, listingId)).get(key)
  if (merged !== undefined) return { kind: 'listing', key, listingId, publisher, merged }
  // Whether its source still has it is not known until that is held whole.
  if (state === PUSHED_OUT) return null
  // What a source without an answer had is not removed, unless it was gone before.
  const isGone = state === GONE && view.query.status === 'open'
  if (!isGone && !now.followed.has(source)) return UNKNOWN
  // What the entry's own source has is known.
  const unchecked = now.unknown.flatMap(({ name }) => (name === source ? [] : name))
  const removed: Change = { kind: 'removed', key, listingId, publisher, unchecked }
  const earlier = copiesSince(stored, view, entry, since)
  if (earlier !== undefined) return earlier.some((copy) => wasShown(looking, entry, copy)) ? removed : null
  if (view.request.reader.filter.criteria.length > 0)
    throw goneError('is too old to know what has left your view')
  return removed
}

/** What the source had since the position; `undefined` where that, or what other sources had, is not known. */
function copiesSince(
  stored: StoredLog,
  { ranked }: ChangesView,
  { source, key }: FeedEntry,
  since: number,
): readonly (Copy | null)[] | undefined {
  const { log, earlier } = stored
  // What others have may have changed since, in the log or in memory alone.
  const hasOthers = ranked.some(
    ({ name }) =>
      name !== source &&
      ((log.latest(name, key)?.position ?? 0) > since || stored.isPending(nameOf({ source: name, key }))),
  )
  return hasOthers ? undefined : earlier.since(nameOf({ source, key }), since)
}

/** What `GET /listings` shows of one id, by key. */
function shownListings(looking: Looking, listingId: string): ReadonlyMap<string, MergedItem> {
  const { now, index, bounds } = looking
  const { scope, query } = now
  const shown = index
    .decisionsOf(listingId, scope, query.status)
    .flatMap(({ decider, isShown }) => (isShown ? [decider] : []))
    .filter((copy) => matchesQuery(looking, copy, nameIn(now, copy), query))
  const items = mergeCopies(looking, now, shown, { bounds })
  return new Map(items.map((merged) => [keyOf(merged.item, merged.registry), merged]))
}

/** Whether the listing of that entry was shown while its source had another copy of it, or none. */
function wasShown(looking: Looking, { listingId, key, source }: FeedEntry, before: Copy | null): boolean {
  const { scope, query, bySource } = looking.now
  const sourceOf = (copy: Copy): string => bySource.get(copy.source)?.name ?? source
  const isOwn = bySource.values().some((holding) => holding.name === source && holding.isOwn)
  const earlier = before === null ? [] : [{ ...before, rank: looking.ranking.ranks.get(source)!, isOwn }]
  const copies = looking.index
    .decisionsOf(listingId, scope, query.status)
    .flatMap(({ decider, otherCopies }) => [decider, ...otherCopies])
    .filter((copy) => sourceOf(copy) !== source || keyOf(copy, source) !== key)
    .concat(earlier)
    .map((item) => ({ item, rank: item.rank, isOwn: item.isOwn, status: item.status }))
  const { standing = NO_FILTER } = scope
  const isShown = ({ item }: { item: Copy }): boolean =>
    matchesIn(looking, item, sourceOf(item), standing) && matchesQuery(looking, item, sourceOf(item), query)
  return decide(copies, { status: query.status, matches: isShown }).some(
    (one) => one.isShown && keyOf(one.decider.item, sourceOf(one.decider.item)) === key,
  )
}

function matchesQuery(settings: MarketSettings, copy: Copy, source: string, query: ListingQuery): boolean {
  return (
    (query.publisher === null || hasKey(copy, query.publisher)) && matchesIn(settings, copy, source, query)
  )
}

/** Sizes by which prices are divided are those of the source's words. */
function matchesIn(
  { vocabulary }: MarketSettings,
  { bytes }: Copy,
  source: string,
  { criteria, priceLimit }: Pick<ListingQuery, 'criteria' | 'priceLimit'>,
): boolean {
  if (criteria.length === 0 && priceLimit === undefined) return true
  const limit = priceLimit && {
    ...priceLimit,
    sizesOf: (listing: JsonValue) => vocabulary.sizesOf(listing, source),
  }
  return matchesAll(criteriaIn(criteria, source), documentOf(bytes), limit)
}
