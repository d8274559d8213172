import type { ListingStatus } from '../domain/listing.ts'
import type { PricePer } from '../domain/price/price-key.ts'
import type { TokenTable } from '../domain/price/token.ts'
import { ALL_OPEN, ANY_STATUS, type ListingQuery } from '../domain/query.ts'
import { maySee, SEES_ALL } from '../domain/reader.ts'
import type { Holding } from '../domain/source/holding.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { inTurns } from '../domain/turns.ts'
import { EntrepotError } from '../errors.ts'
import { setFormOf } from '../filter-spec/operations/operations.ts'
import { parseCriteria } from '../filter-spec/parameters.ts'
import type { Ranking, RankingOptions } from '../listing-index/ranking.ts'
import { hasAnswered } from '../wire/describe-missing.ts'
import type { FacetJson, NotCounted } from '../wire/facets.ts'
import type { SourceNote } from '../wire/source.ts'
import type { VocabularyJson } from '../wire/vocabulary.ts'
import { askNow, matchesOf, outcomesOf } from './asked.ts'
import { ItemPrices } from './by-price/item-prices.ts'
import { createFindBounds } from './by-price/outliers.ts'
import type { MarkedSettings } from './by-price/price-bounds.ts'
import { currentPosition, type Following, followChanges, type SharedReads } from './changes/market-changes.ts'
import type { CurrentSpec } from './current-spec.ts'
import { facetFields, type MergedFacets, REGISTRY_FACET, readFacets } from './facets.ts'
import { countedFilters, describeFilters, type FilterDescriptions } from './filter-descriptions.ts'
import { findListing, type MergedLookup } from './find-listing.ts'
import { countUnplaced, type Hints, type Suggestion, suggestModel } from './hints.ts'
import type { Completeness, MarketParts } from './market-parts.ts'
import {
  type CheckedQuery,
  createQueryReader,
  type MarketQuery,
  type MarketRequest,
  type QueryReader,
} from './market-query.ts'
import { type ListingStream, streamListings } from './ndjson.ts'
import { findNearMisses, type NearMiss } from './near-misses.ts'
import { type MergedPage, type PageSettings, type Paging, readPage } from './pages.ts'
import { refresh } from './refresh.ts'
import { type RuleCount, Rules, type SourceRules } from './rules.ts'
import { isSignable } from './signable.ts'
import { type Reports, unlessRefused } from './source-report.ts'
import { type AskRequest, type MarketSettings, rankSources } from './sources.ts'
import { bothHold, type Validity } from './validity.ts'
import { suggestPublishers, suggestValues, suggestWholeValues } from './value-hints.ts'
import { createVocabularyReport } from './vocabulary-report.ts'

/** All sources as one. Rejects with an `EntrepotError`: `bad_request`, `unavailable`, `timeout`, `source_incomplete` or `loop`. */
export type Market = {
  tokens: TokenTable
  /** Whether `changes` is answered. */
  followsChanges: boolean
  /** `suggests`: whether the answer says what a spelling leaves out, which costs a count. */
  page: (query: MarketQuery & Paging & { suggests?: boolean }, request: MarketRequest) => Promise<Page>
  stream: (
    query: MarketQuery,
    request: MarketRequest,
  ) => Promise<ListingStream & Pick<Page, 'changesPosition'>>
  /** Of any status. `registry`: as in an item's `_meta`; `null` for all sources. */
  find: (listingId: string, registry: string | null, request: MarketRequest) => Promise<MergedLookup>
  /** `by`: names of filters, or `registry`; `null`: the usual ones. `pricesBy`: one of which each value has its prices. */
  facets: (
    query: MarketQuery & { by: readonly string[] | null; pricesBy?: string | null },
    request: MarketRequest,
  ) => Promise<MarketFacets>
  /** What the reader may filter by. */
  filterSpec: (request: MarketRequest) => Promise<CurrentSpec>
  /** The same for agents and people. `isCounted`: with the values that open listings have. */
  filters: (request: MarketRequest, isCounted: boolean) => Promise<FilterDescriptions>
  /** What models and places mean, and what is not recognised. */
  vocabulary: (request: MarketRequest) => Promise<VocabularyJson & Reports>
  /** What changes in `page`, from a position on or from now on. @throws EntrepotError `gone` where the position is not good */
  changes: (query: MarketQuery, since: string | null, request: MarketRequest) => Promise<Following>
  /** The state of each source, and the sources that gateways among them lack. */
  sources: (request: MarketRequest) => Promise<Completeness>
  /**
   * Open listings of each source in the view, as `GET /sources` reports them: `null` for a source that does not answer.
   * `null`: the sources' own counts are those of the view.
   */
  listingCounts: (request: MarketRequest) => Promise<ReadonlyMap<string, number | null> | null>
  /** What of the own Registry's listings exists for the reader; `null` for a reader that does not see it. */
  ownListings: (request: Pick<MarketRequest, 'reader'>) => Promise<OwnListings | null>
  /** Whether the operator says that there are private sources which the reader does not see. */
  isPrivateHidden: (request: Pick<MarketRequest, 'reader'>) => boolean
  /** What the operator leaves out of that source now; `null`: nothing. */
  rulesOf: (source: string) => SourceRules | null
  /** How many open listings of each source that is held each rule and block leaves out, for the operator. */
  ruleCounts: () => Promise<ReadonlyMap<string, readonly RuleCount[]>>
  /** As of `CopyIndex`. */
  selfCheck: () => number
  close: () => void
}

/** `hasPrivate`: as `isPrivateHidden` says. `warnings`: of the question. */
type Announced = { hasPrivate: boolean } & Pick<CheckedQuery, 'warnings'>

export type Page = MergedPage &
  Hints &
  Announced & {
    isCurrent: Validity
    nearMisses: readonly NearMiss[] | undefined
    changesPosition: string | undefined
  }
type MarketFacets = MergedFacets & Announced & Hints & { notCounted: NotCounted; isCurrent: Validity }

/** The filters do not wait long for their counts. */
const COUNT_MS = 2000

/** Resolves once all that is held is ranked. */
export async function openMarket(parts: MarketParts): Promise<Market> {
  const { names, rules, options } = rankingOf(parts)
  return marketOf(parts, { names, rules, ranking: await inTurns(parts.index.rank(options)) })
}

/** Over an index without rows. */
export function createMarket(parts: MarketParts): Market {
  const { names, rules, options } = rankingOf(parts)
  const steps = parts.index.rank(options)
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return marketOf(parts, { names, rules, ranking: value })
  }
}

/** `names`: of the sources, by rank. */
type Ranked = { names: readonly string[]; rules: Rules; ranking: Ranking }

function marketOf(parts: MarketParts, { names, rules, ranking }: Ranked): Market {
  const { feed, index, sourceOf = beforeSlash } = parts
  const sources = parts.sources.map(({ source }) => source)
  followRules(parts, rules, ranking)
  const itemPrices = new ItemPrices(parts.tokens)
  const ranks = new Map(names.map((name, rank) => [name, rank]))
  const ranked = { ...parts, sources, ranks, ranking, rules, itemPrices }
  const settings: PageSettings = { ...ranked, boundsOf: createFindBounds(ranked) }
  const read = createQueryReader(parts)
  const reads: SharedReads = { running: new Map(), quiet: new Map() }
  const positionOf = (checked: CheckedQuery) => feed && currentPosition({ ...settings, feed }, checked)
  const visibleTo = ({ reader }: Pick<MarketRequest, 'reader'>) =>
    parts.sources.filter(({ source }) => maySee(reader, source))
  const isPrivateHidden: Market['isPrivateHidden'] = ({ reader }) =>
    parts.announcesPrivate === true &&
    parts.sources.some(({ source }) => source.visibility === 'private' && !maySee(reader, source))
  const vocabularyOf = createVocabularyReport(settings)
  const ask = preparing(sources, read.query, parts.budgetMs)
  const asking: Asking = { parts, settings, ask, pathOf: read.path, positionOf, isPrivateHidden }
  return {
    tokens: parts.tokens,
    followsChanges: feed !== undefined,
    page: (asked, request) => readMarketPage(asking, asked, request),
    stream: async (asked, request) => {
      const checked = await ask(asked, request)
      const { query, merge, spec, warnings } = checked
      const changesPosition = positionOf(checked)?.text
      return { ...(await streamListings(settings, { query, spec, warnings }, merge)), changesPosition }
    },
    changes: async (asked, since, request) => {
      if (feed === undefined) throw new EntrepotError('bad_request', 'Changes are not followed here')
      return followChanges({ ...settings, feed, parts, reads }, await read.query(asked, request), since)
    },
    find: (listingId, registry, request) => {
      const { isLoop, ...path } = read.path(request)
      const named = registry === null ? null : [sourceOf(registry)]
      const { reader, signal } = request
      return findListing(settings, { listingId, ...path }, { reader, signal, named, isLoop })
    },
    facets: (asked, request) => readMarketFacets(asking, asked, request),
    filterSpec: (request) => read.spec(request),
    filters: async (request, isCounted) => {
      const spec = await read.spec(request)
      const counts = isCounted ? await countFilters(asking, spec, request) : null
      return describeFilters(spec, visibleTo(request), counts, parts)
    },
    vocabulary: async (request) => {
      const { filters } = await read.spec(request)
      const derived = [...filters.values()].filter(({ parseDerived }) => parseDerived !== undefined)
      return { filters: derived.map(({ name }) => name), ...(await vocabularyOf(request)) }
    },
    sources: async (request) => {
      const counts = await countListings(settings, request)
      const healths = visibleTo(request).map(({ health }) => health(request.signal))
      const notes = (await Promise.all(healths)).flat()
      const complete = notes.every(({ state }) => hasAnswered(state))
      return { complete, sources: notes.map((note) => withCount(note, counts)) }
    },
    listingCounts: (request) => countListings(settings, request),
    ownListings: (request) => readOwn(settings, request),
    isPrivateHidden,
    rulesOf: (source) => rules.of(source),
    ruleCounts: () => countRules(settings),
    selfCheck: () => index.selfCheck(ranking),
    close: () => {
      rules.close()
      index.end(ranking)
    },
  }
}

/** Decides again what other rules concern, and lets followers look at it. */
function followRules({ feed, index }: MarketParts, rules: Rules, ranking: Ranking): void {
  rules.onChange((concerned) => {
    index.decideAgain(ranking, [...new Set(Array.from(concerned.values(), (ids) => [...ids]).flat())])
    for (const [source, listingIds] of concerned) feed?.lookAgain(source, listingIds)
  })
}

/** Readers of the signed line know a listing by its id alone, and are not given what cannot be signed. */
function rankingOf({ index, sources, isSigned = false, curation }: MarketParts) {
  const names = rankSources(sources.map(({ source }) => source)).map(({ name }) => name)
  const rules = new Rules(index, names, curation)
  const options: RankingOptions = isSigned
    ? { names, groupBy: 'id', isOut: (copy) => rules.isOut(copy) || !isSignable(copy) }
    : { names, groupBy: 'listing', ...(curation && { isOut: rules.isOut }) }
  return { names, rules, options }
}

/** A question whose sources are prepared to answer it. */
function preparing(
  sources: readonly Holding[],
  ask: QueryReader['query'],
  ofMarket: number,
): QueryReader['query'] {
  return async (...question) => {
    const checked = await ask(...question)
    const { budgetMs = ofMarket } = checked.merge
    const merge = { ...checked.merge, budgetMs }
    return { ...checked, merge: { ...merge, budgetMs: await refresh(sources, checked.query, merge) } }
  }
}

/** What each question of a market is answered with. */
type Asking = {
  parts: MarketParts
  settings: PageSettings
  ask: QueryReader['query']
  pathOf: QueryReader['path']
  positionOf: (checked: CheckedQuery) => ReturnType<typeof currentPosition> | undefined
  isPrivateHidden: Market['isPrivateHidden']
}

async function readMarketPage(
  { parts, settings, ask, positionOf, isPrivateHidden }: Asking,
  { limit, offset, cursor, suggests = true, ...asked }: Parameters<Market['page']>[0],
  request: MarketRequest,
): Promise<Page> {
  const { clock } = parts
  const started = clock.monotonic()
  const checked = await ask(asked, request)
  const { query, merge, spec } = checked
  const position = positionOf(checked)
  const page = await readPage(settings, query, { limit, offset, cursor }, merge)
  const isMiss = suggests && page.total === 0 && request.cdnLoop === undefined
  const leftMs = (merge.budgetMs ?? parts.budgetMs) - (clock.monotonic() - started)
  return {
    ...page,
    nearMisses:
      isMiss && leftMs > 0
        ? await findNearMisses(settings, { query, spec }, { ...merge, budgetMs: leftMs })
        : undefined,
    unplaced: await countUnplaced(settings, { query, spec }, merge),
    suggestions:
      suggests && !cursor
        ? await suggest(settings, { query, spec, total: page.total, isFirst: isMiss }, merge)
        : undefined,
    hasPrivate: isPrivateHidden(request),
    warnings: checked.warnings,
    isCurrent: [asked.filters.length === 0 ? undefined : spec.isCurrent, position?.isGood].reduce(
      bothHold,
      page.isCurrent,
    ),
    changesPosition: position?.text,
  }
}

async function readMarketFacets(
  { settings, ask, isPrivateHidden }: Asking,
  { by: asBy, pricesBy = null, ...asked }: Parameters<Market['facets']>[0],
  request: MarketRequest,
): Promise<MarketFacets> {
  const by = pricesBy === null ? asBy : [...new Set([...(asBy ?? []), pricesBy])]
  const names = by?.filter((name) => name !== REGISTRY_FACET) ?? null
  const { query, merge, spec, warnings } = await ask(asked, request, names)
  const fields = facetFields(by, spec.filters)
  const { per } = asked.prices
  const counted = await readFacets(settings, { ...query, by: fields, per }, merge)
  const facets =
    pricesBy === null
      ? counted
      : await withPrices(settings, counted, { name: pricesBy, query, spec, per }, merge)
  const unplaced = await countUnplaced(settings, { query, spec }, merge)
  const whole = await suggestWholeValues(settings, { query, spec, total: facets.total }, merge)
  const hasFilters = asked.filters.length > 0 || names?.length !== 0
  return {
    ...facets,
    unplaced,
    notCounted: await counted.countLeftOut(),
    suggestions: whole.length > 0 ? whole : undefined,
    warnings,
    hasPrivate: isPrivateHidden(request),
    isCurrent: bothHold(facets.isCurrent, hasFilters ? spec.isCurrent : undefined),
  }
}

/** The values that open listings have, by filter; `null` where the sources' answers are refused. */
function countFilters(
  { parts, settings, pathOf }: Asking,
  spec: CurrentSpec,
  request: MarketRequest,
): Promise<MergedFacets | null> {
  const { isLoop: _, ...path } = pathOf(request)
  const { reader, signal } = request
  const asked = { ...ALL_OPEN, standing: reader.filter, ...path }
  const query = { ...asked, by: countedFilters(spec.filters), per: 'gpu' } as const
  return unlessRefused(readFacets(settings, query, { reader, signal, budgetMs: parts.countMs ?? COUNT_MS }))
}

type Counted = { query: ListingQuery; spec: CurrentSpec; total: number; isFirst: boolean }

/** Queries that find more: by what a model means, and by values that listings have. */
async function suggest(
  settings: MarkedSettings,
  { isFirst, ...counted }: Counted,
  request: AskRequest,
): Promise<readonly Suggestion[] | undefined> {
  const models = (await suggestModel(settings, counted, request)) ?? []
  const whole = await suggestWholeValues(settings, counted, request)
  const values = isFirst && whole.length === 0 ? await suggestValues(settings, counted, request) : []
  const publishers = isFirst ? await suggestPublishers(settings, counted, request) : []
  const all = [...models, ...whole, ...values, ...publishers]
  return all.length === 0 ? undefined : all
}

/** By name. Copies that better sources have count, as in what a source reports of itself. */
async function countListings(
  settings: MarketSettings,
  { reader }: Pick<MarketRequest, 'reader'>,
): Promise<ReadonlyMap<string, number | null> | null> {
  if (reader.filter.key === '' && !settings.rules.areAny) return null
  const asked = askNow(settings, { ...ALL_OPEN, standing: reader.filter }, { reader })
  const matches = await matchesOf(settings, asked)
  return new Map(
    outcomesOf(asked, matches).map(({ source, result }) => [
      source.name,
      result instanceof SourceError ? null : result.matched,
    ]),
  )
}

/** `publisherIds`: of those with a listing that is shown; `null`: nothing is left out. */
export type OwnListings = {
  counts: Record<ListingStatus, number>
  publisherIds: ReadonlySet<number> | null
  /** Whether publishers without a listing exist, too. */
  hasIdle: boolean
  deniesPublisher: (publisher: string) => boolean
}

async function readOwn(
  settings: MarketSettings,
  { reader }: Pick<MarketRequest, 'reader'>,
): Promise<OwnListings | null> {
  const { index, sources, rules } = settings
  const own = sources.find(({ isOwn }) => isOwn)
  if (own === undefined || !maySee(reader, own)) return null
  const { name } = own
  const ofSource = rules.of(name)
  const about = {
    hasIdle: reader.filter.key === '',
    deniesPublisher: (publisher: string) => ofSource?.deniesPublisher(publisher) === true,
  }
  const number = own.rows()!
  if (reader.filter.key === '' && ofSource === null)
    return { ...about, counts: countEach((status) => index.countOf(number, status)), publisherIds: null }
  const query = { ...ANY_STATUS, standing: reader.filter }
  const matches = await matchesOf(settings, askNow(settings, query, { reader, named: [name] }))
  const counts = countEach(() => 0)
  for (const copy of matches.copies()) counts[copy.status]++
  return { ...about, counts, publisherIds: new Set(matches.publisherIds()) }
}

function countEach(count: (status: ListingStatus) => number): Record<ListingStatus, number> {
  return { open: count('open'), closed: count('closed'), expired: count('expired') }
}

/** Of each source that has an answer. */
async function countRules(settings: MarketSettings): Promise<ReadonlyMap<string, readonly RuleCount[]>> {
  const { bySource } = askNow(settings, ALL_OPEN, { reader: SEES_ALL })
  const counts = new Map<string, readonly RuleCount[]>()
  for (const [number, source] of bySource)
    counts.set(source.name, await settings.rules.counts(source, number))
  return counts
}

function withCount(note: SourceNote, counts: ReadonlyMap<string, number | null> | null): SourceNote {
  const isCounted = counts !== null && 'listings' in note && counts.has(note.registry)
  return isCounted ? { ...note, listings: counts.get(note.registry) } : note
}

/** Values that have prices of their own. */
const MAX_PRICED_VALUES = 32

type PricedBy = { name: string; query: ListingQuery; spec: CurrentSpec; per: PricePer }

/** With the prices of the listings of each of the most frequent values. */
async function withPrices(
  settings: MarkedSettings,
  counted: MergedFacets,
  { name, query, spec, per }: PricedBy,
  request: AskRequest,
): Promise<MergedFacets> {
  const facet = counted.facets[name]
  if (facet === undefined) return counted
  const values: FacetJson['values'] = []
  for (const one of facet.values) {
    const isPriced = one.count > 0 && values.length < MAX_PRICED_VALUES && setFormOf(one.value) === null
    const filters = [...query.filters, [name, one.value] as const]
    const narrowed = { ...query, filters, by: [], per }
    const prices = isPriced
      ? (await readFacets(settings, { ...narrowed, criteria: parseCriteria(spec, filters) }, request)).prices
      : undefined
    values.push({ ...one, ...(prices && { prices: [...prices] }) })
  }
  return { ...counted, facets: { ...counted.facets, [name]: { ...facet, values } } }
}

/** `eu/curated` belongs to the source `eu`. */
function beforeSlash(name: string): string {
  return name.split('/', 1)[0]!
}
