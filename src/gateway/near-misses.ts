import { formatAmount, readableAmount, unitName } from '../domain/price/price-key.ts'
import type { ListingQuery, PriceLimit } from '../domain/query.ts'
import { matchesAll } from '../filter-spec/evaluate.ts'
import { type Criterion, criteriaIn, type FilterSpec } from '../filter-spec/filter.ts'
import { filterNameOf, parseCriteria } from '../filter-spec/parameters.ts'
import { resolvePath } from '../filter-spec/path.ts'
import { type Scalar, toScalar } from '../filter-spec/scalar.ts'
import { isOpen } from '../vocabulary/open-value.ts'
import { readFacets } from './facets.ts'
import { type MergedItem, readListing } from './merged-item.ts'
import { readPage } from './pages.ts'
import { unlessRefused } from './source-report.ts'
import type { MergeRequest, MergeSettings } from './sources.ts'

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

type Asked = { query: ListingQuery; spec: Pick<FilterSpec, 'filters'> }

/** `distance`: relative, and 1 where values do not order. */
type Found = NearMiss & { distance: number }

/**
 * For a query that matches nothing: the closest listings, at most one for each condition, the cheapest of those that are as close.
 * What cannot be answered in the time of the query is left out.
 */
export async function findNearMisses(
  settings: MergeSettings,
  asked: Asked,
  request: MergeRequest,
): Promise<NearMiss[]> {
  const { criteria, priceLimit } = asked.query
  const tries = criteria.slice(0, MAX_TRIED).map((criterion) => missOf(settings, asked, criterion, request))
  if (priceLimit !== undefined) tries.push(missOfPrice(settings, asked, priceLimit, request))
  const found = await Promise.all(tries.map(unlessRefused))
  return found
    .flatMap((miss) => miss ?? [])
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, MAX_MISSES)
}

async function missOf(
  settings: MergeSettings,
  { query, spec }: Asked,
  criterion: Criterion,
  request: MergeRequest,
): Promise<Found | null> {
  const { name, op, value_type } = criterion.filter
  const wanted = query.filters.findLast(([one]) => one === name)![1]
  const others = query.filters.filter(([parameter]) => filterNameOf(parameter) !== name)
  const relaxed = { ...query, filters: others, criteria: parseCriteria(spec, others) }
  const isNumber = op === 'range' || (value_type === 'number' && Number.isFinite(Number(wanted)))
  const each = isNumber ? withHalfTheTime(request) : request
  const near = isNumber ? await nearestNumber(settings, { relaxed, criterion, wanted }, each) : null
  const only =
    near === null
      ? []
      : [[name, op === 'range' ? `range:[${near.value},${near.value}]` : String(near.value)] as const]
  const filters = [...others, ...only]
  const narrowed = near === null ? relaxed : { ...query, filters, criteria: parseCriteria(spec, filters) }
  for (const merged of await readCheapest(settings, narrowed, each)) {
    const own = criteriaIn([criterion], merged.registry)
    const document = readListing(merged.item)
    if (merged.price?.outlier === true || matchesAll(own, document)) continue
    const [value = null] = resolvePath(own[0]!.filter.compiled, document).map(toScalar)
    return {
      differs: { filter: name, wanted, has: shownValue(value) },
      merged,
      distance: near?.distance ?? 1,
    }
  }
  return null
}

/** Of two reads, one after the other. */
const withHalfTheTime = (request: MergeRequest): MergeRequest =>
  request.budgetMs === undefined ? request : { ...request, budgetMs: request.budgetMs / 2 }

function shownValue(value: Scalar | null): string | number | null {
  if (value === null || isOpen(value)) return null
  return typeof value === 'bigint' ? String(value) : value
}

type Nearest = { relaxed: ListingQuery; criterion: Criterion; wanted: string }

/** The value of a listing that is nearest to a range; `null` where none is a number. */
async function nearestNumber(
  settings: MergeSettings,
  { relaxed, criterion: { filter, test }, wanted }: Nearest,
  request: MergeRequest,
): Promise<{ value: number; distance: number } | null> {
  const { facets } = await readFacets(settings, { ...relaxed, by: [filter], per: 'gpu' }, request)
  const ends = test.op === 'range' ? [test.low, test.high].flatMap((end) => end?.value ?? []) : [wanted]
  const distanceFrom = (value: number): number =>
    Math.min(...ends.map((end) => Math.abs(Number(end) - value) / Math.max(Math.abs(Number(end)), 1)))
  return facets[filter.name]!.values.map(({ value }) => ({
    value: Number(value),
    distance: distanceFrom(Number(value)),
  }))
    .filter(({ distance }) => Number.isFinite(distance))
    .reduce<{ value: number; distance: number } | null>(
      (best, one) => (best === null || one.distance < best.distance ? one : best),
      null,
    )
}

async function missOfPrice(
  settings: MergeSettings,
  { query }: Asked,
  { tokens, per, scaleOf, max }: PriceLimit,
  request: MergeRequest,
): Promise<Found | null> {
  const byPrice = { tokens, per, scaleOf }
  const page = await readCheapest(settings, { ...query, priceLimit: undefined }, { ...request, byPrice })
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
  settings: MergeSettings,
  query: ListingQuery,
  request: MergeRequest,
): Promise<readonly MergedItem[]> {
  const { priceLimit: limit } = query
  const byPrice =
    request.byPrice ??
    (limit ? { ...limit, limit } : { tokens: null, per: 'gpu', scaleOf: settings.tokens.scaleOf })
  const asked = { ...request, byPrice, requireAll: false }
  const { items } = await readPage(
    { ...settings, cursors: null },
    query,
    { limit: CANDIDATES, offset: 0 },
    asked,
  )
  return items
}
