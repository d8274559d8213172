import { formatAmount, readableAmount, unitName } from '../../domain/price/price-key.ts'
import type { ListingQuery, PriceLimit } from '../../domain/query.ts'
import { matchesAll } from '../../filter-spec/evaluate.ts'
import { type Criterion, criteriaIn } from '../../filter-spec/filter.ts'
import { filterNameOf } from '../../filter-spec/parameters.ts'
import { resolvePath } from '../../filter-spec/path.ts'
import { type Scalar, toScalar } from '../../filter-spec/scalar.ts'
import { documentOf } from '../../listing-index/document-reader.ts'
import { MODEL_PATH, REGION_PATH } from '../../vocabulary/names.ts'
import { isOpen } from '../../vocabulary/open-value.ts'
import { continentOfCountry } from '../../vocabulary/places/place-table.ts'
import type { Asking } from '../asking.ts'
import { type Question, withFilters } from '../market-query.ts'
import type { MarketSettings } from '../market-settings.ts'
import type { MergedItem } from '../pages/merged-item.ts'
import { readPage } from '../pages/page.ts'
import type { ByPrice } from '../pages/price-groups.ts'
import { unlessRefused } from '../source-report.ts'
import { countValues } from './facets.ts'

/** A listing that differs from what was asked in one thing. */
export type NearMiss = {
  differs: {
    /** The filter, or `price_max`. */
    filter: string
    wanted: string
    /** What the listing has, in words; `null` where it does not say. */
    has: string | number | null
  }
  merged: MergedItem
}

const MAX_MISSES = 3
/** Conditions that are left out, one at a time, in the order of the query. */
const MAX_TRIED = 6
/** Listings that are looked at for each: the cheapest may be outliers. */
const CANDIDATES = 20
/** Of one condition, one after the other. */
const MAX_READS = 3

type Filters = ListingQuery['filters']

/** `distance`: relative, and 1 where values do not order. */
type Found = NearMiss & { distance: number }

/**
 * For a query that matches nothing: the closest listings, at most one for each condition, the cheapest of those that are as close.
 * What cannot be answered in that time, in ms, is left out.
 */
export async function findNearMisses(
  settings: MarketSettings,
  question: Question,
  budgetMs: number,
): Promise<NearMiss[]> {
  const { criteria, priceLimit } = question.query
  const timed = (ms: number): Question => ({ ...question, request: { ...question.request, budgetMs: ms } })
  const each = timed(budgetMs / MAX_READS)
  const tries = criteria.slice(0, MAX_TRIED).map((criterion) => missOf(settings, each, criterion))
  if (priceLimit !== undefined) tries.push(missOfPrice(settings, timed(budgetMs), priceLimit))
  const found = await Promise.all(tries.map(unlessRefused))
  return found
    .flatMap((miss) => miss ?? [])
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, MAX_MISSES)
}

async function missOf(
  settings: MarketSettings,
  question: Question,
  criterion: Criterion,
): Promise<Found | null> {
  const { query, spec } = question
  const { name } = criterion.filter
  const wanted = query.filters.findLast(([one]) => one === name)![1]
  const others = query.filters.filter(([parameter]) => filterNameOf(parameter) !== name)
  const nearest = await nearestNumber(settings, withFilters(question, others), criterion, wanted)
  const near = nearest?.filters ?? nearTo(settings, criterion, wanted)
  const isUnused = (parameter: string): boolean =>
    parameter === name || (spec.filters.has(parameter) && !others.some(([one]) => one === parameter))
  const tries: Filters[] = near.filter(([parameter]) => isUnused(parameter)).map((filter) => [filter])
  // Without another condition, any listing of the market would do.
  const isAlone = query.criteria.length === 1 && query.priceLimit === undefined && query.publisher === null
  if (nearest === null && !isAlone) tries.push([])
  for (const filters of tries) {
    for (const merged of await readCheapest(settings, withFilters(question, [...others, ...filters]))) {
      const own = criteriaIn([criterion], merged.registry)
      const document = documentOf(merged.item.bytes)
      if (merged.price?.outlier === true || matchesAll(own, document)) continue
      const [value = null] = resolvePath(own[0]!.filter.compiled, document).map(toScalar)
      return {
        differs: { filter: name, wanted, has: shownValue(value) },
        merged,
        distance: nearest?.distance ?? 1,
      }
    }
  }
  return null
}

/** What is near to a model or a place, the nearest first: the model, then its memory; the country, then its continent. */
function nearTo(
  { vocabulary }: MarketSettings,
  { filter: { name, path, parseDerived }, test }: Criterion,
  wanted: string,
): Filters {
  const meant = parseDerived?.(wanted).meant
  const values = meant?.form === 'in' ? meant.values : test.op === 'in' ? [...test.values].map(String) : []
  if (name === 'gpu' || path === MODEL_PATH) {
    const gpus = values.map((gpu_model) => vocabulary.read({ offer_resource: { gpu_model } }, '').gpu)
    const sizes = gpus.flatMap(({ memoryGb }) => memoryGb)
    const memory = sizes.length === 0 ? null : `range:[${Math.min(...sizes)},${Math.max(...sizes)}]`
    return withValues([
      ['gpu', setOf(gpus.map(({ model }) => model))],
      ['gpu_memory_gb_min', memory],
    ])
  }
  if (name !== 'country' && path !== REGION_PATH) return []
  const places = values.map((region) =>
    name === 'country'
      ? { country: region, continent: continentOfCountry(vocabulary.tables.places, region) }
      : vocabulary.read({ offer_resource: { region } }, '').place,
  )
  return withValues([
    ['country', setOf(places.map(({ country }) => country))],
    ['continent', setOf(places.map(({ continent }) => continent))],
  ])
}

function setOf(values: readonly (string | null)[]): string | null {
  const known = new Set(values.flatMap((value) => value ?? []))
  return known.size === 0 ? null : `in:[${[...known].join(',')}]`
}

const withValues = (filters: readonly (readonly [name: string, value: string | null])[]): Filters =>
  filters.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]))

function shownValue(value: Scalar | null): string | number | null {
  if (value === null || isOpen(value)) return null
  return typeof value === 'bigint' ? String(value) : value
}

/** The value of a listing that is nearest to a number or a range; `null` where none is a number. */
async function nearestNumber(
  settings: MarketSettings,
  question: Question,
  { filter, test }: Criterion,
  wanted: string,
): Promise<{ filters: Filters; distance: number } | null> {
  const isRange = filter.op === 'range'
  if (!isRange && (filter.value_type !== 'number' || !Number.isFinite(Number(wanted)))) return null
  const values = await countValues(settings, question, filter)
  const ends = test.op === 'range' ? [test.low, test.high].flatMap((end) => end?.value ?? []) : [wanted]
  const distanceFrom = (value: number): number =>
    Math.min(...ends.map((end) => Math.abs(Number(end) - value) / Math.max(Math.abs(Number(end)), 1)))
  const [nearest] = Array.from(values.keys(), Number)
    .map((value) => ({ value, distance: distanceFrom(value) }))
    .filter(({ distance }) => Number.isFinite(distance))
    .toSorted((a, b) => a.distance - b.distance)
  if (nearest === undefined) return null
  const { value, distance } = nearest
  return { filters: [[filter.name, isRange ? `range:[${value},${value}]` : String(value)]], distance }
}

async function missOfPrice(
  settings: MarketSettings,
  question: Question,
  { tokens, per, max }: PriceLimit,
): Promise<Found | null> {
  const query = { ...question.query, priceLimit: undefined }
  const page = await readCheapest(settings, { ...question, query }, { tokens, per })
  const merged = page.find(
    ({ price }) =>
      price?.price_per === per &&
      tokens.some(({ chain, address }) => chain === price.chain && address === price.token),
  )
  if (merged === undefined) return null
  const { amount, symbol, unit } = merged.price!
  const wanted = formatAmount(max, settings.tokens.decimalsOf(tokens[0]!.symbol))
  const has = `${readableAmount(amount, true)} ${symbol}/${unitName(unit, per)}`
  const distance = Number(amount) / Math.max(Number(wanted), Number.MIN_VALUE) - 1
  return { differs: { filter: 'price_max', wanted, has }, merged, distance }
}

async function readCheapest(
  settings: MarketSettings,
  { query, request }: Asking,
  by?: ByPrice,
): Promise<readonly MergedItem[]> {
  const { priceLimit: limit } = query
  const usual = limit ? { ...limit, limit } : ({ tokens: null, per: 'gpu' } as const)
  const asked = { ...request, byPrice: by ?? request.byPrice ?? usual, requireAll: false }
  return (await readPage(settings, { query, request: asked }, { limit: CANDIDATES, offset: 0 })).items
}
