import type { FeedEntry } from '../../domain/feed-entry.ts'
import { hasKey } from '../../domain/listing-identity.ts'
import { type ListingQuery, NO_FILTER } from '../../domain/query.ts'
import type { Holding } from '../../domain/source/holding.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { matchesAll } from '../../filter-spec/evaluate.ts'
import { criteriaIn } from '../../filter-spec/filter.ts'
import type { JsonValue } from '../../json/value.ts'
import { decide } from '../../listing-index/authority.ts'
import type { Copy } from '../../listing-index/copy.ts'
import { documentOf } from '../../listing-index/document-reader.ts'
import { SourceSet } from '../../listing-index/source-set.ts'
import { askNow, nameIn } from '../asked.ts'
import type { Question } from '../market-query.ts'
import type { MarketSettings } from '../market-settings.ts'
import { type MergedItem, mergeCopies } from '../pages/merged-item.ts'
import { type Asked, rankSources, visibleSources } from '../sources.ts'
import { keyOf } from './held-copy.ts'

/** One query of one reader. `ranked`: all that the reader may see and asks for, by rank. */
export type ChangesView = Pick<Question, 'query' | 'request'> & { ranked: readonly Holding[] }

export function viewOf(sources: readonly Holding[], { query, request }: Omit<Question, 'spec'>): ChangesView {
  return { query, request, ranked: rankSources(visibleSources(sources, request)) }
}

/** What the reader is shown now of sources whose changes are known: `followed` has their names, `unknown` those not known whole. */
export type ShownNow = Asked & { followed: ReadonlySet<string> }

export function shownNow(settings: MarketSettings, { query, request, ranked }: ChangesView): ShownNow {
  const asked = askNow(settings, query, request)
  const { sources, ...known } = SHOWN.get(asked.answers) ?? followedOf(settings, asked, ranked)
  SHOWN.set(asked.answers, { sources, ...known })
  return { ...asked, ...known, scope: { ...asked.scope, sources } }
}

type Followed = Pick<ShownNow, 'followed' | 'unknown'> & { sources: SourceSet }

/** Of what the sources say. */
const SHOWN = new WeakMap<Asked['answers'], Followed>()

function followedOf({ ranks }: MarketSettings, asked: Asked, ranked: readonly Holding[]): Followed {
  const followed = new Map<Holding, number>()
  for (const { source, answer } of asked.answers)
    if (!(answer instanceof SourceError) && source.coverage() !== 'loading')
      followed.set(source, answer.source)
  const isUnknown = (source: Holding): boolean => !followed.has(source) || source.coverage() !== 'whole'
  return {
    followed: new Set(followed.keys().map(({ name }) => name)),
    unknown: ranked.filter(isUnknown).map(({ name }) => ({ name, rank: ranks.get(name)! })),
    sources: new SourceSet([...followed.values()]),
  }
}

/** What `GET /listings` shows of one id, by key. */
export function shownListings(
  settings: MarketSettings,
  now: ShownNow,
  listingId: string,
): Map<string, MergedItem> {
  const { scope, query } = now
  const shown = settings.index
    .decisionsOf(listingId, scope, query.status)
    .flatMap(({ decider, isShown }) => (isShown ? [decider] : []))
    .filter((copy) => matchesQuery(settings, copy, nameIn(now, copy), query))
  const items = mergeCopies(settings, now, shown)
  return new Map(items.map((merged) => [keyOf(merged.item, merged.registry), merged]))
}

/** Whether the listing of that entry was shown while its source had another copy of it, or none. */
export function wasShown(
  settings: MarketSettings,
  { scope, query, bySource }: ShownNow,
  { listingId, key, source }: FeedEntry,
  before: Copy | null,
): boolean {
  const nameOf = (copy: Copy): string => bySource.get(copy.source)?.name ?? source
  const isOwn = bySource.values().some((holding) => holding.name === source && holding.isOwn)
  const earlier = before === null ? [] : [{ ...before, rank: settings.ranks.get(source)!, isOwn }]
  const copies = settings.index
    .decisionsOf(listingId, scope, query.status)
    .flatMap(({ decider, otherCopies }) => [decider, ...otherCopies])
    .filter((copy) => nameOf(copy) !== source || keyOf(copy, source) !== key)
    .concat(earlier)
    .map((item) => ({ item, rank: item.rank, isOwn: item.isOwn, status: item.status }))
  const { standing = NO_FILTER } = scope
  const isShown = ({ item }: { item: Copy }): boolean =>
    matchesIn(settings, item, nameOf(item), standing) && matchesQuery(settings, item, nameOf(item), query)
  return decide(copies, { status: query.status, matches: isShown }).some(
    (one) => one.isShown && keyOf(one.decider.item, nameOf(one.decider.item)) === key,
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
