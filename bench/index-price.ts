import { fileURLToPath } from 'node:url'
import type { PriceOrder } from '../src/domain/price/price-order.ts'
import type { Criterion, FilterSpec } from '../src/filter-spec/filter.ts'
import { readFilterSpec } from '../src/filter-spec/load.ts'
import { parseCriteria } from '../src/filter-spec/parameters.ts'
import { CopyIndex } from '../src/listing-index/copy-index.ts'
import type { CopyMatches } from '../src/listing-index/copy-matches.ts'
import { SourceSet } from '../src/listing-index/source-set.ts'
import { byBasis } from '../test/helpers/grouping.ts'
import { run } from '../test/helpers/steps.ts'
import { CHAINS, favouring, generateListings, randomFrom, TOKENS } from './generate-listings.ts'
import { LISTINGS, percentile, randomFilters, timed } from './index.ts'
import type { Bench, TableRow } from './table.ts'

const QUERIES = 500
const FACET_QUERIES = 100
const WARM_UP = 50
const PAGE = 50
const MAX_GROUPS = 32
const FIELDS = ['gpu_model', 'region', 'gpu_interconnect']

export const indexPrice: Bench = {
  name: 'index-price',
  what: `${LISTINGS.toLocaleString('en')} rows in memory, half of them worse copies; pages of ${PAGE} in the order of price, and facets over three fields with prices`,
  run: async () => {
    const spec = readFilterSpec(fileURLToPath(new URL('../config/filter-spec.yaml', import.meta.url)))
    const ask = build(spec)
    const random = randomFrom(11)
    const filters = (count: number) => parseCriteria(spec, [...randomFilters(random, count)])
    const page = (criteria: readonly Criterion[]) =>
      firstPage(ask(criteria), random() < 0.5 ? favouring(TOKENS, random) : null)
    const facets = (criteria: readonly Criterion[]) => countAll(ask(criteria), spec)
    return [
      ...rowsFor(
        'page, two filters',
        2,
        repeat(QUERIES, () => page(filters(2))),
      ),
      ...rowsFor(
        'page, no filter',
        null,
        repeat(FACET_QUERIES, () => page([])),
      ),
      ...rowsFor(
        'facets, no filter',
        10,
        repeat(FACET_QUERIES, () => facets([])),
      ),
      ...rowsFor(
        'facets, two filters',
        10,
        repeat(FACET_QUERIES, () => facets(filters(2))),
      ),
    ]
  },
}

/** Two sources with the same listings: all open ones that match. */
function build(spec: FilterSpec): (criteria: readonly Criterion[]) => CopyMatches {
  const index = new CopyIndex(spec.filters.values())
  const names = ['better', 'worse']
  const ranking = run(index.rank({ names, groupBy: 'listing' }))
  const sources = names.map((name) => index.addSource(name))
  for (const source of sources) run(index.load(source, [...generateListings(LISTINGS / names.length)]))
  const scope = { ranking, sources: new SourceSet(sources) }
  return (criteria) => run(index.match(scope, { status: 'open', criteria }))
}

/** With the counts that order the groups: of one token by unit, or of every basis. */
function firstPage(matches: CopyMatches, token: string | null): number {
  const tokens =
    token === null ? null : CHAINS.map((chain) => ({ chain, address: token, symbol: token, decimals: 6 }))
  const offers = [...matches.offers(tokens)].toSorted(([, a], [, b]) => b.publishers - a.publishers)
  const bases = offers.map(([basis]) => basis)
  const order: PriceOrder = { groups: bases.slice(0, MAX_GROUPS).map((basis) => [basis]), per: 'gpu' }
  let bytes = 0
  for (const { copy } of matches.copiesByPrice(order, null).take(PAGE)) bytes += copy.bytes.length
  return bytes
}

function countAll(matches: CopyMatches, spec: FilterSpec): number {
  const fields = FIELDS.map((name) => spec.filters.get(name)!)
  return run(matches.facets(fields, byBasis('gpu'))).prices.size
}

/** Ascending, without those of the warm-up. */
function repeat(count: number, ask: () => unknown): number[] {
  const times = Array.from({ length: WARM_UP + count }, () => timed(ask))
  return times.slice(WARM_UP).toSorted((a, b) => a - b)
}

function rowsFor(what: string, budget: number | null, times: readonly number[]): TableRow[] {
  const limit = budget === null ? {} : { budget: String(budget) }
  return [
    { measure: `${what}, p50`, value: percentile(times, 0.5), unit: 'ms', ...limit },
    { measure: `${what}, p99`, value: percentile(times, 0.99), unit: 'ms' },
  ]
}
