import { addTo, byCount } from '../../domain/counts.ts'
import type { PricePer } from '../../domain/price/price-key.ts'
import type { PriceGrouping } from '../../domain/price/price-order.ts'
import { inTurns } from '../../domain/turns.ts'
import { EntrepotError } from '../../errors.ts'
import type { Filter } from '../../filter-spec/filter.ts'
import { setFormOf } from '../../filter-spec/operations/operations.ts'
import { suggestFilter } from '../../filter-spec/suggest-filter.ts'
import type { CopyMatches } from '../../listing-index/copy-matches.ts'
import { isOpen } from '../../vocabulary/open-value.ts'
import type { FacetJson, NotCounted, PriceRangeJson } from '../../wire/facets.ts'
import { ask, matchesOf, nameIn, outcomesOf, whileLearning } from '../ask.ts'
import type { Asked, Asking } from '../asking.ts'
import { type Question, withFilters } from '../market-query.ts'
import type { MarketSettings } from '../market-settings.ts'
import { assertAnswerable, type Reports, reportOutcomes } from '../source-report.ts'
import { qualifiedName } from '../sources.ts'
import { type Validity, validityOf } from '../validity.ts'
import { countLeftOut, countOutliers, rangesOf } from './facet-prices.ts'

/** Counts per source of the copy that is shown, under the names that readers see. */
export const REGISTRY_FACET = 'registry'
export const MAX_FACETS = 8
const MAX_VALUES = 100
/** Longer values count as others: a listing may hold any text. */
const MAX_VALUE_LENGTH = 200
/** Most values that are counted at once, of all fields: about 25 ms. */
const MAX_COUNTED_VALUES = 100_000

export type Counted = {
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
  isCurrent: Validity
  /** What the leading price leaves out. */
  countLeftOut: () => Promise<NotCounted>
}

/** Counted where `by` is absent, as far as the vocabulary has them. */
const DEFAULT_FACETS = ['gpu', 'service_name', 'region']

/** @param names `null`: the default ones. @throws EntrepotError `bad_request` for an unknown name, or too many */
export function facetFields(
  names: readonly string[] | null,
  filters: ReadonlyMap<string, Filter>,
): Counted['by'] {
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

/** Over distinct listings. Rejects as a page does. */
export async function readFacets(
  settings: MarketSettings,
  question: Asking,
  { by, per }: Counted,
): Promise<MergedFacets> {
  const { request } = question
  const { signal: caller, reader } = request
  const asked = await ask(settings, question)
  const matches = await matchesOf(settings, asked)
  const fields = by.filter((field) => field !== REGISTRY_FACET)
  const prices = pricesPer(per, settings)
  assertCountable(matches, fields)
  const counts = await whileLearning(matches.facets(fields, prices), caller)
  const bounds = await settings.boundsOf(reader, asked)
  const counting = { settings, asked, matches, bounds, prices }
  const outliers = await inTurns(countOutliers(counting), caller)
  const { registries, copies } = await countRegistries(settings, asked, matches)
  const { total } = matches
  const reports = reportOutcomes(outcomesOf(asked, matches), settings)
  assertAnswerable({ ...reports, total }, request)
  const ranges = rangesOf(counting, counts.prices, outliers)
  const facets = by.map((field) => {
    if (field === REGISTRY_FACET) return [field, facetOf(registries, 0)]
    const n = fields.indexOf(field)
    const [values, missing] = [counts.values[n]!, counts.missing[n]!]
    const facet = field.parseDerived === undefined ? facetOf(values, missing) : judged(values, missing)
    return [field.name, reports.complete ? facet : atLeast(facet, modelsOf(field, settings))]
  })
  return {
    total,
    gpus: counts.gpus,
    facets: Object.fromEntries(facets),
    prices: ranges,
    outliers: outliers.listings,
    sellers: matches.sellers().size,
    copies: [...copies],
    isCurrent: validityOf(settings, asked, { bounds }),
    countLeftOut: () => inTurns(countLeftOut(counting, ranges), caller),
    ...reports,
  }
}

/** Values that have prices of their own. */
const MAX_PRICED_VALUES = 32

/** With the prices of the listings of each of the most frequent values of one of the facets. */
export async function withPrices(
  settings: MarketSettings,
  question: Question,
  counted: MergedFacets,
  { name, per }: { name: string; per: PricePer },
): Promise<MergedFacets> {
  const facet = counted.facets[name]
  if (facet === undefined) return counted
  const values: FacetJson['values'] = []
  for (const one of facet.values) {
    const isPriced = one.count > 0 && values.length < MAX_PRICED_VALUES && setFormOf(one.value) === null
    if (!isPriced) {
      values.push(one)
      continue
    }
    const ofValue = withFilters(question, [...question.query.filters, [name, one.value]])
    const { prices } = await readFacets(settings, ofValue, { by: [], per })
    values.push({ ...one, prices: [...prices] })
  }
  return { ...counted, facets: { ...counted.facets, [name]: { ...facet, values } } }
}

/** How facets count prices. */
function pricesPer(per: PricePer, { tokens, vocabulary }: MarketSettings): PriceGrouping {
  return { per, groupOf: tokens.groupingOf(per), scaleOf: tokens.scaleOf, sizesOf: vocabulary.sizesOf }
}

/** Listings by value of a filter, over the sources that answer. Rejects with an EntrepotError where they cannot be counted. */
export async function countValues(
  settings: MarketSettings,
  question: Asking,
  field: Filter,
): Promise<ReadonlyMap<string, number>> {
  const matches = await matchesOf(settings, await ask(settings, question))
  assertCountable(matches, [field])
  const [values] = await whileLearning(matches.values([field]), question.request.signal)
  return values!
}

/** @throws EntrepotError `bad_request` for fields with too many values */
function assertCountable(matches: CopyMatches, fields: readonly Filter[]): void {
  if (matches.countDistinct(fields) > MAX_COUNTED_VALUES)
    throw new EntrepotError(
      'bad_request',
      `by: ${fields.map(({ name }) => name).join(', ')} have more than ${MAX_COUNTED_VALUES} values`,
    )
}

/** Listings by the qualified names of their sources: a gateway has listings of several, and may have copies of some. */
async function countRegistries(
  settings: MarketSettings,
  asked: Asked,
  matches: CopyMatches,
): Promise<{ registries: ReadonlyMap<string, number>; copies: ReadonlySet<string> }> {
  const registries = new Map<string, number>()
  const copies = new Set<string>()
  const gateways = new Set<number>()
  for (const [source, { matched, hidden }] of matches.bySource()) {
    const { name, isGateway } = asked.bySource.get(source)!
    if (isGateway) gateways.add(source)
    else addTo(registries, name, matched - hidden)
  }
  if (gateways.size > 0) {
    const ofGateways = await matchesOf(settings, asked, ({ source }) => gateways.has(source))
    await inTurns(countOrigins(ofGateways))
  }
  return { registries, copies }

  function* countOrigins(found: CopyMatches): Generator<void, void> {
    for (const copy of found.copies()) {
      const name = qualifiedName(nameIn(asked, copy), copy)
      addTo(registries, name, 1)
      if (copy.origin?.stale === true) copies.add(name)
      yield
    }
  }
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

function modelsOf({ name, parseDerived }: Filter, { vocabulary }: MarketSettings): string[] {
  if (name !== 'gpu' || parseDerived === undefined) return []
  return vocabulary.tables.gpus.models.map(({ model }) => model)
}

/** All copies of a source may be hidden. */
function facetOf(counts: ReadonlyMap<string, number>, missing: number): FacetJson {
  const top: [value: string, count: number][] = []
  let all = 0
  for (const entry of counts) {
    const [value, count] = entry
    if (count === 0) continue
    all += count
    if (value.length > MAX_VALUE_LENGTH || (top.length === MAX_VALUES && byCount(entry, top.at(-1)!) > 0))
      continue
    const after = top.findLastIndex((other) => byCount(other, entry) < 0)
    top.splice(after + 1, 0, entry)
    if (top.length > MAX_VALUES) top.pop()
  }
  const shown = sum(top, ([, count]) => count)
  return { values: top.map(([value, count]) => ({ value, count })), other: all - shown, missing }
}

function sum<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0)
}
