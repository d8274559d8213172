import { LISTING_STATUSES, type ListingStatus } from '../domain/listing.ts'
import type { TokenTable } from '../domain/price/token.ts'
import { ALL_OPEN, ANY_STATUS } from '../domain/query.ts'
import { maySee, SEES_ALL } from '../domain/reader.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { EntrepotError } from '../errors.ts'
import { hasAnswered } from '../wire/describe-missing.ts'
import type { NotCounted } from '../wire/facets.ts'
import type { VocabularyJson } from '../wire/vocabulary.ts'
import { askNow, matchesOf, outcomesOf } from './ask.ts'
import {
  type ChangesSettings,
  currentPosition,
  type Following,
  followChanges,
} from './changes/market-changes.ts'
import { facetFields, type MergedFacets, REGISTRY_FACET, readFacets, withPrices } from './counts/facets.ts'
import { countedFilters, describeFilters, type FilterDescriptions } from './counts/filter-descriptions.ts'
import { countUnplaced, type Hints, suggest, suggestWholeValues } from './counts/hints.ts'
import { findNearMisses, type NearMiss } from './counts/near-misses.ts'
import { createVocabularyReport } from './counts/vocabulary-report.ts'
import { type CurrentSpec, createReadSpec, type ReadSpec } from './current-spec.ts'
import {
  type CheckedQuery,
  checkQuery,
  type MarketQuery,
  type MarketRequest,
  pathOf,
  specFor,
} from './market-query.ts'
import type { MarketParts, MarketSettings, MarketSource } from './market-settings.ts'
import { findListing, type MergedLookup } from './pages/find-listing.ts'
import { ItemPrices } from './pages/item-price.ts'
import { type ListingStream, streamListings } from './pages/ndjson.ts'
import { createFindBounds } from './pages/outliers.ts'
import { type MergedPage, type Paging, readPage } from './pages/page.ts'
import { refresh } from './refresh.ts'
import { type RuleCount, Rules, type SourceRules } from './rules.ts'
import { isSignable } from './signable.ts'
import { type Completeness, type Reports, unlessRefused } from './source-report.ts'
import { rankSources } from './sources.ts'
import { bothHold } from './validity.ts'

/** `hasPrivate`: as of `isPrivateHidden`. */
type Announced = { hasPrivate: boolean } & Pick<CheckedQuery, 'warnings'>

export type Page = MergedPage &
  Hints &
  Announced & { nearMisses: readonly NearMiss[] | undefined; changesPosition: string | undefined }

type MarketFacets = MergedFacets & Announced & Hints & { notCounted: NotCounted }

/** The filters do not wait long for their counts. */
const COUNT_MS = 2000

/** In steps that rank all that is held; in one step over an index without rows. */
export function* openMarket(parts: MarketParts): Generator<void, Market> {
  const { index, sources, isSigned = false, curation, feed, tokens } = parts
  const names = rankSources(sources).map(({ name }) => name)
  const rules = new Rules(index, names, curation)
  // Readers of the signed line know a listing by its id alone, and are not given what cannot be signed.
  const ranking = yield* index.rank(
    isSigned
      ? { names, groupBy: 'id', isOut: (copy) => rules.isOut(copy) || !isSignable(copy) }
      : { names, groupBy: 'listing', ...(curation && { isOut: rules.isOut }) },
  )
  rules.onChange((concerned) => {
    index.decideAgain(ranking, [...new Set(Array.from(concerned.values(), (ids) => [...ids]).flat())])
    for (const [source, listingIds] of concerned) feed?.lookAgain(source, listingIds)
  })
  const boundsOf = createFindBounds(() => settings)
  const itemPrices = new ItemPrices(tokens)
  const settings: MarketSettings = { ...parts, ranking, rules, itemPrices, boundsOf }
  return new Market(settings)
}

/** All sources as one. Rejects with an `EntrepotError`: `bad_request`, `unavailable`, `timeout`, `source_incomplete` or `loop`. */
export class Market {
  readonly tokens: TokenTable
  readonly #settings: MarketSettings
  readonly #changes: ChangesSettings | null
  readonly #readSpec: ReadSpec
  readonly #vocabularyOf: ReturnType<typeof createVocabularyReport>

  constructor(settings: MarketSettings) {
    const { tokens, feed } = settings
    this.tokens = tokens
    this.#settings = settings
    this.#changes = feed
      ? { ...settings, stored: feed.stored, reads: { running: new Map(), quiet: new Map() } }
      : null
    this.#readSpec = createReadSpec(settings)
    this.#vocabularyOf = createVocabularyReport(settings)
  }

  /** `suggests`: whether the answer says what a spelling leaves out, which costs a count. */
  async page(
    { limit, offset, cursor, suggests = true, ...asked }: MarketQuery & Paging & { suggests?: boolean },
    request: MarketRequest,
  ): Promise<Page> {
    const { clock } = this.#settings
    const started = clock.monotonic()
    const question = await this.#ask(asked, request)
    const { spec, warnings } = question
    // Before anything is read: what changes meanwhile comes once more.
    const position = this.#changes && currentPosition(this.#changes, question)
    const page = await readPage(this.#settings, question, { limit, offset, cursor })
    const isMiss = suggests && page.total === 0 && request.cdnLoop === undefined
    const leftMs = question.request.budgetMs - (clock.monotonic() - started)
    const nearMisses =
      isMiss && leftMs > 0 ? await findNearMisses(this.#settings, question, leftMs) : undefined
    return {
      ...page,
      nearMisses,
      unplaced: await countUnplaced(this.#settings, question),
      suggestions:
        suggests && !cursor
          ? await suggest(this.#settings, question, { total: page.total, isMiss })
          : undefined,
      hasPrivate: this.isPrivateHidden(request),
      warnings,
      isCurrent: [asked.filters.length === 0 ? undefined : spec.isCurrent, position?.isGood].reduce(
        bothHold,
        page.isCurrent,
      ),
      changesPosition: position?.seal(),
    }
  }

  async stream(
    query: MarketQuery,
    request: MarketRequest,
  ): Promise<ListingStream & Pick<Page, 'changesPosition'>> {
    const question = await this.#ask(query, request)
    // Before anything is read: what changes meanwhile comes once more.
    const position = this.#changes && currentPosition(this.#changes, question)
    return { ...(await streamListings(this.#settings, question)), changesPosition: position?.seal() }
  }

  /** Of any status. `registry`: as in an item's `_meta`; `null` for all sources. */
  async find(listingId: string, registry: string | null, request: MarketRequest): Promise<MergedLookup> {
    // `eu/curated` belongs to the source `eu`.
    const { sourceOf = (name) => name.split('/', 1)[0]! } = this.#settings
    const { isLoop, ...path } = pathOf(this.#settings, request)
    const named = registry === null ? null : [sourceOf(registry)]
    const { reader, signal } = request
    return findListing(this.#settings, { listingId, ...path }, { reader, signal, named, isLoop })
  }

  /** `by`: names of filters, or `registry`; `null`: the usual ones. `pricesBy`: one of which each value has its prices. */
  async facets(
    {
      by: asBy,
      pricesBy = null,
      ...asked
    }: MarketQuery & { by: readonly string[] | null; pricesBy?: string | null },
    request: MarketRequest,
  ): Promise<MarketFacets> {
    const by = pricesBy === null ? asBy : [...new Set([...(asBy ?? []), pricesBy])]
    const names = by?.filter((name) => name !== REGISTRY_FACET) ?? null
    const question = await this.#ask(asked, request, names)
    const { spec, warnings } = question
    const fields = facetFields(by, spec.filters)
    const { per } = asked.prices
    const counted = await readFacets(this.#settings, question, { by: fields, per })
    const facets =
      pricesBy === null
        ? counted
        : await withPrices(this.#settings, question, counted, { name: pricesBy, per })
    const unplaced = await countUnplaced(this.#settings, question)
    const hasFilters = asked.filters.length > 0 || names?.length !== 0
    return {
      ...facets,
      unplaced,
      notCounted: await counted.countLeftOut(),
      suggestions: await suggestWholeValues(this.#settings, question, facets.total),
      warnings,
      hasPrivate: this.isPrivateHidden(request),
      isCurrent: bothHold(facets.isCurrent, hasFilters ? spec.isCurrent : undefined),
    }
  }

  /** What the reader may filter by. */
  filterSpec(request: MarketRequest): Promise<CurrentSpec> {
    // Two gateways that start together and request each other must not wait for each other.
    return specFor(this.#settings, this.#readSpec, request, request.cdnLoop === undefined ? undefined : [])
  }

  /** The same for agents and people. `isCounted`: with the values that open listings have. */
  async filters(asked: MarketRequest, isCounted: boolean): Promise<FilterDescriptions> {
    const { reader, signal } = asked
    const spec = await this.filterSpec(asked)
    const visible = this.#visibleTo(asked)
    if (!isCounted) return describeFilters(spec, visible, null, this.#settings)
    const { isLoop: _, ...path } = pathOf(this.#settings, asked)
    const request = { reader, signal, budgetMs: this.#settings.countMs ?? COUNT_MS }
    const counted = { by: countedFilters(spec.filters), per: 'gpu' } as const
    const counts = await unlessRefused(
      readFacets(this.#settings, { query: { ...ALL_OPEN, ...path }, request }, counted),
    )
    return describeFilters(spec, visible, counts, this.#settings)
  }

  /** What models and places mean, and what is not recognised. */
  async vocabulary(request: MarketRequest): Promise<VocabularyJson & Reports> {
    const { filters } = await this.filterSpec(request)
    const derived = filters.values().filter(({ parseDerived }) => parseDerived !== undefined)
    return { filters: [...derived.map(({ name }) => name)], ...(await this.#vocabularyOf(request)) }
  }

  /** Whether `changes` is answered. */
  get followsChanges(): boolean {
    return this.#changes !== null
  }

  /** What changes in `page`, from a position on or from now on. @throws EntrepotError `gone` where the position is not good */
  async changes(query: MarketQuery, since: string | null, request: MarketRequest): Promise<Following> {
    if (this.#changes === null) throw new EntrepotError('bad_request', 'Changes are not followed here')
    return followChanges(this.#changes, await this.#check(query, request), since)
  }

  /** The state of each source, and the sources that gateways among them lack. */
  async sources(request: MarketRequest): Promise<Completeness> {
    const counts = await this.listingCounts(request)
    const healths = this.#visibleTo(request).map(({ health }) => health(request.signal))
    const notes = (await Promise.all(healths)).flat()
    return {
      complete: notes.every(({ state }) => hasAnswered(state)),
      sources: notes.map((note) =>
        'listings' in note && counts?.has(note.registry)
          ? { ...note, listings: counts.get(note.registry) }
          : note,
      ),
    }
  }

  /**
   * Open listings of each source in the view, by name, as `GET /sources` reports them, with copies that better sources have:
   * `null` for a source that does not answer. `null`: the sources' own counts are those of the view.
   */
  async listingCounts({ reader }: ByReader): Promise<ReadonlyMap<string, number | null> | null> {
    const settings = this.#settings
    if (reader.filter.key === '' && !settings.rules.areAny) return null
    const asked = askNow(settings, ALL_OPEN, { reader })
    return new Map(
      outcomesOf(asked, await matchesOf(settings, asked)).map(({ source, answer, matched }) => [
        source.name,
        answer instanceof SourceError ? null : matched,
      ]),
    )
  }

  /** What of the own Registry's listings exists for the reader; `null` for a reader that does not see it. */
  async ownListings({ reader }: ByReader): Promise<OwnListings | null> {
    const { index, sources, rules } = this.#settings
    const own = sources.find(({ isOwn }) => isOwn)
    if (own === undefined || !maySee(reader, own)) return null
    const ofSource = rules.of(own.name)
    const hasIdle = reader.filter.key === ''
    const deniesPublisher = (publisher: string) => ofSource?.deniesPublisher(publisher) === true
    const counts = { open: 0, closed: 0, expired: 0 }
    if (hasIdle && ofSource === null) {
      for (const status of LISTING_STATUSES) counts[status] = index.countOf(own.rows()!, status)
      return { counts, publisherIds: null, hasIdle, deniesPublisher }
    }
    const asked = askNow(this.#settings, ANY_STATUS, { reader, named: [own.name] })
    const matches = await matchesOf(this.#settings, asked)
    for (const copy of matches.copies()) counts[copy.status]++
    return { counts, publisherIds: new Set(matches.sellerNumbers()), hasIdle, deniesPublisher }
  }

  /** Whether the operator says that there are private sources which the reader does not see. */
  isPrivateHidden({ reader }: ByReader): boolean {
    const { announcesPrivate = false, sources } = this.#settings
    const isHidden = (source: MarketSource) => source.visibility === 'private' && !maySee(reader, source)
    return announcesPrivate && sources.some(isHidden)
  }

  /** What the operator leaves out of that source now; `null`: nothing. */
  rulesOf(source: string): SourceRules | null {
    return this.#settings.rules.of(source)
  }

  /** How many open listings of each source that is held each rule and block leaves out, for the operator. */
  async ruleCounts(): Promise<ReadonlyMap<string, readonly RuleCount[]>> {
    const { bySource } = askNow(this.#settings, ALL_OPEN, { reader: SEES_ALL })
    const counts = new Map<string, readonly RuleCount[]>()
    for (const [number, source] of bySource)
      counts.set(source.name, await this.#settings.rules.counts(source, number))
    return counts
  }

  /** As of `CopyIndex`. */
  selfCheck(): number {
    const { index, ranking } = this.#settings
    return index.selfCheck(ranking)
  }

  close(): void {
    const { index, ranking, rules } = this.#settings
    rules.close()
    index.end(ranking)
  }

  #check(
    query: MarketQuery,
    request: MarketRequest,
    names?: readonly string[] | null,
  ): Promise<CheckedQuery> {
    return checkQuery(this.#settings, this.#readSpec, query, request, names)
  }

  /** A question whose sources are prepared to answer it. */
  async #ask(
    query: MarketQuery,
    request: MarketRequest,
    names?: readonly string[] | null,
  ): Promise<CheckedQuery> {
    const checked = await this.#check(query, request, names)
    const budgetMs = await refresh(this.#settings.sources, checked)
    return { ...checked, request: { ...checked.request, budgetMs } }
  }

  #visibleTo({ reader }: ByReader): readonly MarketSource[] {
    return this.#settings.sources.filter((source) => maySee(reader, source))
  }
}

type ByReader = Pick<MarketRequest, 'reader'>

/** `publisherIds`: of those with a listing that is shown; `null`: nothing is left out. */
export type OwnListings = {
  counts: Record<ListingStatus, number>
  publisherIds: ReadonlySet<number> | null
  /** Whether publishers without a listing exist, too. */
  hasIdle: boolean
  deniesPublisher: (publisher: string) => boolean
}
