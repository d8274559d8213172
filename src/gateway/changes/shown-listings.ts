import { hasKey } from '../../domain/listing-identity.ts'
import type { ListingQuery } from '../../domain/query.ts'
import type { Reader } from '../../domain/reader.ts'
import type { Holding } from '../../domain/source/holding.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { matchesAll } from '../../filter-spec/evaluate.ts'
import { criteriaIn } from '../../filter-spec/filter.ts'
import { decide, type RankedCopy } from '../../listing-index/authority.ts'
import type { Copy } from '../../listing-index/copy.ts'
import { documentOf } from '../../listing-index/document-reader.ts'
import { SourceSet } from '../../listing-index/source-set.ts'
import { type Asked, askNow } from '../asked.ts'
import type { Question } from '../market-query.ts'
import { type MergedItem, mergeCopies } from '../merged-item.ts'
import { type AskRequest, type MarketSettings, rankSources, visibleSources } from '../sources.ts'
import { keyOf } from './held-copy.ts'

/** One query of one reader. */
export type ChangesView = {
  reader: Reader
  query: ListingQuery
  request: AskRequest
  /** All that the reader may see and asks for, by rank. */
  ranked: readonly Holding[]
}

export function viewOf(
  sources: readonly Holding[],
  { query, request }: Pick<Question, 'query' | 'request'>,
): ChangesView {
  const ranked = rankSources(visibleSources(sources, request))
  return { reader: request.reader, query, request, ranked }
}

/** What the reader is shown now of sources whose changes are known. */
export type ShownNow = {
  asked: Asked
  /** Names of the sources whose changes are known. */
  followed: ReadonlySet<string>
  /** Those that may have listings which are not known here, by rank. */
  notWhole: readonly string[]
}

export function shownNow(settings: MarketSettings, { query, request, ranked }: ChangesView): ShownNow {
  const asked = askNow(settings, query, request)
  const known = SHOWN.get(asked.answers)
  if (known !== undefined) {
    const { followed, notWhole, unknown, sources } = known
    return { asked: { ...asked, scope: { ...asked.scope, sources }, unknown }, followed, notWhole }
  }
  const followed = new Set<string>()
  const wholes = new Set<string>()
  const numbers: number[] = []
  for (const { source, answer } of asked.answers) {
    if (answer instanceof SourceError || source.coverage() === 'loading') continue
    followed.add(source.name)
    numbers.push(answer.source)
    if (source.coverage() === 'whole') wholes.add(source.name)
  }
  const notWhole = ranked.flatMap(({ name }) => (wholes.has(name) ? [] : name))
  const unknown = notWhole.map((name) => ({ name, rank: settings.ranks.get(name)! }))
  const sources = new SourceSet(numbers)
  SHOWN.set(asked.answers, { followed, notWhole, unknown, sources })
  return { asked: { ...asked, scope: { ...asked.scope, sources }, unknown }, followed, notWhole }
}

/** Of what the sources say. */
const SHOWN = new WeakMap<
  Asked['answers'],
  Omit<ShownNow, 'asked'> & Pick<Asked, 'unknown'> & Pick<Asked['scope'], 'sources'>
>()

/** What `GET /listings` shows of one id, by key. */
export function shownListings(
  settings: MarketSettings,
  { asked }: ShownNow,
  listingId: string,
): Map<string, MergedItem> {
  const { scope, query, bySource } = asked
  const shown = settings.index
    .decisionsOf(listingId, scope, query.status)
    .flatMap(({ decider, isShown }) => (isShown ? [decider] : []))
    .filter((copy) => matchesQuery(copy, bySource.get(copy.source)!.name, query))
  const items = mergeCopies(settings, asked, shown)
  return new Map(items.map((merged) => [keyOf(merged.item, merged.registry), merged]))
}

type Change = { listingId: string; key: string; source: string }

/** Whether the listing of that key was shown while one source had another copy of it, or none. */
export function wasShown(
  { index, ranks }: MarketSettings,
  { asked: { scope, query, bySource } }: ShownNow,
  { listingId, key, source }: Change,
  before: Copy | null,
): boolean {
  const nameOf = (copy: Copy): string => bySource.get(copy.source)?.name ?? source
  const now = index
    .decisionsOf(listingId, scope, query.status)
    .flatMap(({ decider, otherCopies }) => [decider, ...otherCopies])
    .filter((copy) => nameOf(copy) !== source || keyOf(copy, source) !== key)
    .map((copy): Contender => ({ item: copy, rank: copy.rank, isOwn: copy.isOwn, status: copy.status }))
  const holding = [...bySource.values()].find(({ name }) => name === source)
  const { isOwn = false } = holding ?? {}
  const rank = ranks.get(source)!
  const copies = before === null ? now : [...now, { item: before, rank, isOwn, status: before.status }]
  const { standing } = scope
  const isShown = ({ item }: Contender): boolean =>
    (standing === undefined || matchesIn(item, nameOf(item), standing)) &&
    matchesQuery(item, nameOf(item), query)
  return decide(copies, { status: query.status, matches: isShown }).some(
    (one) => one.isShown && keyOf(one.decider.item, nameOf(one.decider.item)) === key,
  )
}

type Contender = RankedCopy & { item: Copy }

function matchesQuery(copy: Copy, source: string, query: ListingQuery): boolean {
  return (query.publisher === null || hasKey(copy, query.publisher)) && matchesIn(copy, source, query)
}

/** Sizes by which prices are divided are those of the source's words. */
function matchesIn(
  { bytes }: Copy,
  source: string,
  {
    criteria,
    priceLimit,
    sizesOf,
  }: Pick<ListingQuery, 'criteria'> & Partial<Pick<ListingQuery, 'priceLimit' | 'sizesOf'>>,
): boolean {
  if (criteria.length === 0 && priceLimit === undefined) return true
  const limit = priceLimit && {
    ...priceLimit,
    ...(sizesOf && { sizesOf: (listing: Parameters<typeof sizesOf>[0]) => sizesOf(listing, source) }),
  }
  return matchesAll(criteriaIn(criteria, source), documentOf(bytes), limit)
}
