import { suggestName } from '../domain/nearest-name.ts'
import { parseBasis } from '../domain/price/payment-option.ts'
import { formatAmount, type PriceKey, type PricePer } from '../domain/price/price-key.ts'
import type { TokenTable } from '../domain/price/token.ts'
import type { ListingQuery } from '../domain/query.ts'
import { addTo, byCount, FacetCounter } from '../domain/source/facet-counter.ts'
import type { Facets, PriceCounts } from '../domain/source/selection.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { inTurns, nextTurn } from '../domain/turns.ts'
import { EntrepotError } from '../errors.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { type JsonValue, parseJson } from '../json/value.ts'
import { MEMORY_SCAN_LIMIT } from '../listing-index/index-source.ts'
import { addPriceCounts } from '../listing-index/key-union.ts'
import type { FacetJson, PriceRangeJson } from '../wire/facets.ts'
import { type Copy, isReadable, qualifiedName } from './merged-item.ts'
import { type SelectedSource, selectSources, sharedCopies } from './selected-source.ts'
import { assertAnswerable, type Reports, reportOutcomes } from './source-report.ts'
import { type MergeRequest, type MergeSettings, visibleSources, withBudget } from './sources.ts'

/** Counts per source of the copy that is shown, under the names that readers see. */
export const REGISTRY_FACET = 'registry'
export const MAX_FACETS = 8
const MAX_VALUES = 100
const MAX_PRICES = 32
/** Longer values count as others: a listing may hold any text. */
const MAX_VALUE_LENGTH = 200

export type FacetsQuery = ListingQuery & {
  /** Filters whose values are counted, or `registry`. At most `MAX_FACETS`. */
  by: readonly (Filter | typeof REGISTRY_FACET)[]
  per: PricePer
}

export type MergedFacets = Reports & {
  total: number
  facets: Readonly<Record<string, FacetJson>>
  prices: readonly PriceRangeJson[]
}

/** Counted where `by` is absent, as far as the vocabulary has them. */
const DEFAULT_FACETS = ['gpu_model', 'service_name', 'region']

/** @param names `null`: the default ones. @throws EntrepotError `bad_request` for an unknown name, or too many */
export function facetFields(
  names: readonly string[] | null,
  filters: ReadonlyMap<string, Filter>,
): FacetsQuery['by'] {
  const known = [REGISTRY_FACET, ...filters.keys()]
  const wanted = new Set(names ?? [...DEFAULT_FACETS.filter((name) => filters.has(name)), REGISTRY_FACET])
  if (wanted.size > MAX_FACETS)
    throw new EntrepotError('bad_request', `by: at most ${MAX_FACETS} names, got ${wanted.size}`)
  return Array.from(wanted, (name) => {
    if (name === REGISTRY_FACET) return name
    const filter = filters.get(name)
    if (filter !== undefined) return filter
    throw new EntrepotError(
      'bad_request',
      `by: there is no ${JSON.stringify(name)}${suggestName(name, known) || `: known are ${known.join(', ')}`}`,
    )
  })
}

/** Rejects as a page does. */
export type ReadFacets = (query: FacetsQuery, request: MergeRequest) => Promise<MergedFacets>

/** Over distinct listings: sums of all sources, without the copies that are not shown. */
export function createReadFacets({
  sources,
  budgetMs,
  clock,
  tokens,
}: MergeSettings & { tokens: TokenTable }): ReadFacets {
  return async ({ by, per, ...query }, { reader, signal: caller, options = {} }) => {
    const visible = visibleSources(sources, reader, options)
    const selected = await withBudget(options.budgetMs ?? budgetMs, caller, (signal) =>
      selectSources(visible, query, signal),
    )
    const fields = by.filter((field) => field !== REGISTRY_FACET)
    const counted = await countAll(selected, fields, per, caller)
    const { hidden, excess, registries } = await inTurns(compareCopies(selected, fields, per), caller)
    const total = sum(selected, (one) => one.total) - hidden
    const reports = reportOutcomes(selected, new Map(), clock.now(), query.explain)
    assertAnswerable({ ...reports, total }, options)
    const facets = by.map((field) => {
      if (field === REGISTRY_FACET) return [field, facetOf(registries, 0)]
      const n = fields.indexOf(field)
      const missing = sum(counted, (one) => one.missing[n]!) - excess.missing[n]!
      return [field.name, facetOf(mergeValues(counted, excess, n), missing)]
    })
    return {
      total,
      facets: Object.fromEntries(facets),
      prices: priceRanges(mergePrices(counted, excess), per, tokens),
      ...reports,
    }
  }
}

async function countAll(
  selected: readonly SelectedSource[],
  fields: readonly Filter[],
  per: PricePer,
  caller: AbortSignal,
): Promise<Facets[]> {
  const counted: Facets[] = []
  for (const one of selected) {
    const { selection, source } = one
    if (selection === null) continue
    try {
      // A live source has no index that counts at once.
      if (source.mode === 'live') counted.push(await inTurns(countOneByOne(one, fields, per), caller))
      else counted.push(await selection.facets(fields, per))
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      // The index may lack a field.
      if (selection.total > MEMORY_SCAN_LIMIT) one.result = error
      else counted.push(await inTurns(countOneByOne(one, fields, per), caller))
    }
    await nextTurn(caller)
  }
  return counted
}

function* countOneByOne(
  one: SelectedSource,
  fields: readonly Filter[],
  per: PricePer,
): Generator<void, Facets> {
  const counter = new FacetCounter(fields, per)
  for (const id of new Set(one.selection!.ids()))
    for (const copy of one.copiesOf(id)) {
      if (isReadable(copy)) counter.add(documentOf(copy))
      else one.addInvalid()
      yield
    }
  return counter.facets
}

function documentOf({ item }: Copy): JsonValue {
  const { buffer, byteOffset, byteLength } = item.bytes
  return parseJson(Buffer.from(buffer, byteOffset, byteLength).toString())
}

type Overlap = {
  /** Copies that are not shown. */
  hidden: number
  /** What the sources counted of them. */
  excess: Facets
  /** Shown listings, by the qualified names of their sources. */
  registries: ReadonlyMap<string, number>
}

/** Looks up the ids that several sources may have. */
function* compareCopies(
  selected: readonly SelectedSource[],
  fields: readonly Filter[],
  per: PricePer,
): Generator<void, Overlap> {
  let hidden = 0
  const excess = new FacetCounter(fields, per)
  const registries = new Map<string, number>()
  for (const one of selected) {
    if (!one.source.mayRepeat) registries.set(one.source.name, one.total)
    else
      for (const id of new Set(one.selection?.ids())) {
        for (const copy of one.copiesOf(id)) if (isReadable(copy)) addTo(registries, nameOf(copy), 1)
        yield
      }
  }
  for (const groups of sharedCopies(selected)) {
    for (const [, ...others] of groups)
      for (const copy of others) {
        hidden++
        excess.add(documentOf(copy))
        addTo(registries, nameOf(copy), -1)
        yield
      }
    yield
  }
  return { hidden, excess: excess.facets, registries }
}

function nameOf({ item, reader }: Copy): string {
  return qualifiedName(reader.source.name, item)
}

function mergeValues(counted: readonly Facets[], excess: Facets, n: number): ReadonlyMap<string, number> {
  const less = excess.values[n]!
  if (counted.length === 1 && less.size === 0) return counted[0]!.values[n]!
  const counts = new Map<string, number>()
  for (const { values } of counted) for (const [value, count] of values[n]!) addTo(counts, value, count)
  for (const [value, count] of less) addTo(counts, value, -count)
  return counts
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

function mergePrices(counted: readonly Facets[], excess: Facets): [basis: string, counts: PriceCounts][] {
  const bases = new Set(counted.flatMap(({ prices }) => [...prices.keys()]))
  return Array.from(bases, (basis) => {
    const all = counted.flatMap(({ prices }) => prices.get(basis) ?? [])
    const sum = all.reduce((one, other) => addPriceCounts(one, other))
    const less = excess.prices.get(basis)
    return [basis, less === undefined ? sum : addPriceCounts(sum, less, -1)]
  })
}

function priceRanges(
  prices: readonly [basis: string, counts: PriceCounts][],
  per: PricePer,
  tokens: TokenTable,
): PriceRangeJson[] {
  return prices
    .filter(([, { offers }]) => offers > 0)
    .sort(([a, one], [b, other]) => other.offers - one.offers || (a < b ? -1 : 1))
    .slice(0, MAX_PRICES)
    .map(([basis, { offers, gpus, keys, counts }]) => {
      const { chain, token: address, unit } = parseBasis(basis)
      const token = tokens.find(chain, address)
      const amount = (key: PriceKey): string => formatAmount(key, token?.decimals ?? null)
      return {
        chain,
        token: address,
        symbol: token?.symbol,
        decimals: token?.decimals,
        unit,
        price_per: per,
        offers,
        gpus,
        least: amount(keys[0]!),
        median: amount(medianOf(keys, counts, offers)),
        most: amount(keys.at(-1)!),
      }
    })
}

/** The lower one of two. */
function medianOf(keys: readonly PriceKey[], counts: readonly number[], offers: number): PriceKey {
  let left = Math.ceil(offers / 2)
  const n = counts.findIndex((count) => {
    left -= count
    return left <= 0
  })
  return keys[n]!
}

function sum<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0)
}
