import { parseBasis } from '../domain/price/payment-option.ts'
import type { PriceKey, PricePer, SizesOf } from '../domain/price/price-key.ts'
import type { ListingQuery } from '../domain/query.ts'
import { addTo, byCount, FacetCounter } from '../domain/source/facet-counter.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Item } from '../domain/source/reading.ts'
import type { Facets, PriceGrouping, Selection } from '../domain/source/selection.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { inTurns, nextTurn } from '../domain/turns.ts'
import { EntrepotError } from '../errors.ts'
import { type Filter, filterIn } from '../filter-spec/filter.ts'
import { suggestFilter } from '../filter-spec/suggest-filter.ts'
import { type JsonValue, parseJson } from '../json/value.ts'
import { MEMORY_SCAN_LIMIT } from '../listing-index/index-source.ts'
import { isOpen } from '../vocabulary/open-value.ts'
import type { FacetJson, NotCounted, PriceRangeJson } from '../wire/facets.ts'
import { countLeftOut } from './by-price/count-left-out.ts'
import { countLeastGpus, countOutliers } from './by-price/count-outliers.ts'
import { rangesOf } from './by-price/price-ranges.ts'
import { decidersOf } from './deciders.ts'
import { qualifiedName } from './merged-item.ts'
import { type SelectedSource, selectSources } from './selected-source.ts'
import { assertAnswerable, type Reports, reportOutcomes } from './source-report.ts'
import { type MergeRequest, type MergeSettings, rankSources, visibleSources, withBudget } from './sources.ts'

/** Counts per source of the copy that is shown, under the names that readers see. */
export const REGISTRY_FACET = 'registry'
export const MAX_FACETS = 8
const MAX_VALUES = 100
/** Longer values count as others: a listing may hold any text. */
const MAX_VALUE_LENGTH = 200

export type FacetsQuery = ListingQuery & {
  /** Filters whose values are counted, or `registry`. At most `MAX_FACETS`. */
  by: readonly (Filter | typeof REGISTRY_FACET)[]
  per: PricePer
}

export type MergedFacets = Reports & {
  total: number
  /** Of the listings that count theirs. */
  gpus: number
  facets: Readonly<Record<string, FacetJson>>
  prices: readonly PriceRangeJson[]
  /** Listings whose prices are too low to be meant: `prices` leaves them out. */
  outliers: number
  /** Different publishers. */
  sellers: number
  /** Sources behind gateways whose listings are copies. */
  copies: readonly string[]
  areBoundsCurrent: () => boolean
  /** What the leading price leaves out. */
  countLeftOut: () => Promise<NotCounted>
}

/** Counted where `by` is absent, as far as the vocabulary has them. */
const DEFAULT_FACETS = ['gpu', 'service_name', 'region']

/** @param names `null`: the default ones. @throws EntrepotError `bad_request` for an unknown name, or too many */
export function facetFields(
  names: readonly string[] | null,
  filters: ReadonlyMap<string, Filter>,
): FacetsQuery['by'] {
  const choices = [REGISTRY_FACET, ...filters.keys()]
  const fields = new Set(names ?? [...DEFAULT_FACETS.filter((name) => filters.has(name)), REGISTRY_FACET])
  if (fields.size > MAX_FACETS)
    throw new EntrepotError('bad_request', `by: at most ${MAX_FACETS} names, got ${fields.size}`)
  return Array.from(fields, (name) => {
    if (name === REGISTRY_FACET) return name
    const filter = filters.get(name)
    if (filter !== undefined) return filter
    const meant = suggestFilter(name, choices)
    const hint = meant === null ? `: known are ${choices.join(', ')}` : `; ${meant.hint}`
    throw new EntrepotError('bad_request', `by: there is no ${JSON.stringify(name)}${hint}`)
  })
}

/** Over distinct listings: the sums of all sources, each less the listings that better ones have. Rejects as a page does. */
export async function readFacets(
  settings: MergeSettings,
  { by, per, ...query }: FacetsQuery,
  request: MergeRequest,
): Promise<MergedFacets> {
  const { tokens } = settings
  const { signal: caller, reader } = request
  const { visible, selected } = await selectAll(settings, query, request)
  const fields = by.filter((field) => field !== REGISTRY_FACET)
  const prices = pricesPer(per, settings)
  const counts = await countAll(selected, fields, prices, caller)
  const bounds = await settings.boundsOf(reader, selected)
  const outliers = await inTurns(countOutliers(selected, { bounds, prices, tokens }), caller)
  const leastGpus = (group: string, key: PriceKey) =>
    countLeastGpus(selected, { group, key, bounds, prices, tokens })
  const { registries, copies } = await inTurns(countRegistries(selected), caller)
  const total = sum(selected, (one) => one.total)
  const outcomes = visible.flatMap((source) => selected.filter((one) => one.source === source))
  const reports = reportOutcomes(outcomes, new Map(), settings)
  assertAnswerable({ ...reports, total }, request)
  const chains = countChains(selected, prices, settings)
  const ranges = rangesOf(counts, outliers, { per, tokens, chains, leastGpus })
  const facets = by.map((field) => {
    if (field === REGISTRY_FACET) return [field, facetOf(registries, 0)]
    const n = fields.indexOf(field)
    const missing = sum(counts, (one) => one.missing[n]!)
    const values = mergeValues(counts, n)
    const facet = field.parseDerived === undefined ? facetOf(values, missing) : judged(values, missing)
    return [field.name, reports.complete ? facet : atLeast(facet, modelsOf(field, settings))]
  })
  return {
    total,
    gpus: sum(counts, ({ gpus }) => gpus),
    facets: Object.fromEntries(facets),
    prices: ranges,
    outliers: outliers.listings,
    sellers: new Set(selected.flatMap(({ selection }) => [...(selection?.sellers() ?? [])])).size,
    copies: [...copies],
    areBoundsCurrent: bounds.isCurrent,
    countLeftOut: () =>
      inTurns(countLeftOut(selected, { prices: ranges, grouping: prices, bounds, settings }), caller),
    ...reports,
  }
}

/** How facets count prices. */
export function pricesPer(per: PricePer, { tokens, vocabulary }: MergeSettings): PriceGrouping {
  return { per, groupOf: tokens.groupingOf(per), scaleOf: tokens.scaleOf, sizesOf: vocabulary.sizesOf }
}

/** All matches of the sources that a reader may see. */
export async function selectAll(
  { sources, holdings, budgetMs }: Pick<MergeSettings, 'sources' | 'holdings' | 'budgetMs'>,
  query: ListingQuery,
  request: MergeRequest,
): Promise<{ visible: readonly NamedSource[]; selected: readonly SelectedSource[] }> {
  const { signal: caller, budgetMs: ms = budgetMs } = request
  const visible = visibleSources(sources, request)
  const ranked = rankSources(visible)
  return withBudget(ms, caller, async (signal) => {
    const deciders = await decidersOf(holdings)(ranked, query, signal)
    return { visible, selected: await selectSources(ranked, deciders, signal) }
  })
}

/** Of each source that has an answer. */
export async function countAll(
  selected: readonly SelectedSource[],
  asked: readonly Filter[],
  prices: PriceGrouping,
  caller: AbortSignal,
): Promise<SourceFacets[]> {
  const counts: SourceFacets[] = []
  for (const one of selected) {
    const { selection, source } = one
    if (selection === null) continue
    const fields = asked.map((field) => filterIn(field, source.name))
    const sizesOf: SizesOf = (listing) => prices.sizesOf(listing, source.name)
    const ownPrices = { ...prices, sizesOf }
    try {
      counts.push({ source: source.name, ...(await selection.facets(fields, ownPrices)) })
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      // The index may lack a field.
      if (selection.total > MEMORY_SCAN_LIMIT) one.result = error
      else
        counts.push({
          source: source.name,
          ...(await inTurns(countOneByOne(selection, fields, ownPrices), caller)),
        })
    }
    await nextTurn(caller)
  }
  return counts
}

type SourceFacets = Facets & { source: string }

function* countOneByOne(
  { items }: Selection,
  fields: readonly Filter[],
  prices: PriceGrouping,
): Generator<void, Facets> {
  const counter = new FacetCounter(fields, prices)
  for (const item of items()) {
    counter.add(documentOf(item))
    yield
  }
  return counter.facets
}

function documentOf({ bytes: { buffer, byteOffset, byteLength } }: Item): JsonValue {
  return parseJson(Buffer.from(buffer, byteOffset, byteLength).toString())
}

/** Listings by the qualified names of their sources: a gateway has listings of several, and may have copies of some. */
function* countRegistries(
  selected: readonly SelectedSource[],
): Generator<void, { registries: ReadonlyMap<string, number>; copies: ReadonlySet<string> }> {
  const registries = new Map<string, number>()
  const copies = new Set<string>()
  for (const { source, selection, total } of selected) {
    if (selection === null) continue
    if (source.isGateway !== true) addTo(registries, source.name, total)
    else
      for (const item of selection.items()) {
        const name = qualifiedName(source.name, item)
        addTo(registries, name, 1)
        if (item.origin?.stale === true) copies.add(name)
        yield
      }
  }
  return { registries, copies }
}

/** Offers by chain, of each group of prices in known tokens. */
function countChains(
  selected: readonly SelectedSource[],
  { groupOf }: PriceGrouping,
  { tokens }: Pick<MergeSettings, 'tokens'>,
): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const byGroup = new Map<string, Map<string, number>>()
  for (const { selection } of selected)
    for (const [basis, { offers }] of selection?.offers(tokens.all) ?? []) {
      const byChain = byGroup.get(groupOf(basis)) ?? new Map<string, number>()
      addTo(byChain, parseBasis(basis).chain, offers)
      byGroup.set(groupOf(basis), byChain)
    }
  return byGroup
}

function mergeValues(counts: readonly Facets[], n: number): ReadonlyMap<string, number> {
  if (counts.length === 1) return counts[0]!.values[n]!
  const sums = new Map<string, number>()
  for (const { values } of counts) for (const [value, count] of values[n]!) addTo(sums, value, count)
  return sums
}

/** What leaves its value open is missing. */
function judged(values: ReadonlyMap<string, number>, missing: number): FacetJson {
  const [open, certain] = [true, false].map((wanted) =>
    [...values].filter(([value]) => isOpen(value) === wanted),
  )
  return facetOf(new Map(certain), sum(open!, ([, count]) => count) + missing)
}

/** Where a source is not counted: it may have more of each value, and others that are known. */
function atLeast({ values, ...rest }: FacetJson, known: readonly string[]): FacetJson {
  const counted = new Set(values.map(({ value }) => value))
  const others = known.filter((value) => !counted.has(value)).map((value) => ({ value, count: 0 }))
  const room = Math.max(0, MAX_VALUES - values.length)
  return { ...rest, values: [...values, ...others.slice(0, room)].map((one) => ({ ...one, at_least: true })) }
}

function modelsOf({ name, parseDerived }: Filter, { vocabulary }: MergeSettings): string[] {
  if (name !== 'gpu' || parseDerived === undefined) return []
  return vocabulary.tables.gpus.models.map(({ model }) => model)
}

/** The Registry may have changed between two counts, so some could be below 1. */
function facetOf(counts: ReadonlyMap<string, number>, missing: number): FacetJson {
  const top: [value: string, count: number][] = []
  let all = 0
  for (const entry of counts) {
    const [value, count] = entry
    if (count < 1) continue
    all += count
    if (value.length > MAX_VALUE_LENGTH || (top.length === MAX_VALUES && byCount(entry, top.at(-1)!) > 0))
      continue
    const after = top.findLastIndex((other) => byCount(other, entry) < 0)
    top.splice(after + 1, 0, entry)
    if (top.length > MAX_VALUES) top.pop()
  }
  const shown = sum(top, ([, count]) => count)
  return {
    values: top.map(([value, count]) => ({ value, count })),
    other: all - shown,
    missing: Math.max(0, missing),
  }
}

function sum<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0)
}
