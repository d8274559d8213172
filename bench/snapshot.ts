import { fileURLToPath } from 'node:url'
import { TokenTable } from '../src/domain/price/token.ts'
import type { ListingQuery } from '../src/domain/query.ts'
import { SEES_ALL } from '../src/domain/reader.ts'
import type { FilterSpec } from '../src/filter-spec/filter.ts'
import { readFilterSpec } from '../src/filter-spec/load.ts'
import { parseCriteria } from '../src/filter-spec/parameters.ts'
import { readPage } from '../src/gateway/pages/page.ts'
import { CopyIndex } from '../src/listing-index/copy-index.ts'
import { type FakeItem, fakeSource } from '../test/helpers/fake-source.ts'
import { settingsOver } from '../test/helpers/pages.ts'
import { generateListings, randomFrom } from './generate-listings.ts'
import { percentile, randomFilters } from './index.ts'
import type { Bench, TableRow } from './table.ts'

const UPSTREAMS = 20
const LISTINGS = 10_000
const QUERIES = 3000
const WARM_UP = 500
const CHANGES = 200
/** Seed of the listings that all have. */
const COMMON = UPSTREAMS + 1

export const snapshot: Bench = {
  name: 'snapshot',
  what: `${UPSTREAMS} upstreams × ${LISTINGS.toLocaleString('en')} listings in one index, which have none or half of their listings in common; a page of 50 through one to three filters, in process, nothing cached`,
  run: async () => [
    ...(await measure('own listings', 0)),
    ...(await measure('half are copies', LISTINGS / 2)),
  ],
}

async function measure(listings: string, shared: number): Promise<TableRow[]> {
  const spec = readFilterSpec(fileURLToPath(new URL('../config/filter-spec.yaml', import.meta.url)))
  const sources = Array.from({ length: UPSTREAMS }, (_, n) =>
    fakeSource(`upstream-${n}`, listingsOf(n, shared), { priority: n + 1 }),
  )
  const index = new CopyIndex(spec.filters.values())
  const tokens = new TokenTable([])
  const settings = settingsOver(sources, { index, tokens })
  const request = { reader: SEES_ALL, signal: new AbortController().signal, budgetMs: 60_000 }
  const timedPage = async (query: ListingQuery): Promise<{ ms: number; total: number }> => {
    const started = performance.now()
    const { total } = await readPage(settings, { query, request }, { limit: 50, offset: 0 })
    return { ms: performance.now() - started, total }
  }
  const queries = makeQueries(spec)
  const pages: { ms: number; total: number }[] = []
  for (const query of queries) pages.push(await timedPage(query))
  const measured = pages.slice(WARM_UP)
  const afterChanges: number[] = []
  for (let change = 0; change < CHANGES; change++) {
    sources[0]!.change((items) => items.shift())
    afterChanges.push((await timedPage(queries[change]!)).ms)
  }
  const times = measured.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const matches = measured.reduce((sum, { total }) => sum + total, 0) / measured.length
  return [
    { listings, measure: 'merged page, p50', value: percentile(times, 0.5), unit: 'ms', budget: '0.6' },
    { listings, measure: 'merged page, p99', value: percentile(times, 0.99), unit: 'ms' },
    {
      listings,
      measure: 'first page after a change, p50',
      value: percentile(
        afterChanges.toSorted((a, b) => a - b),
        0.5,
      ),
      unit: 'ms',
    },
    { listings, measure: 'matches, mean', value: matches, unit: 'listings' },
  ]
}

/** All Registries have the same sellers, the first `shared` listings in common, and further ones of their own. */
function listingsOf(n: number, shared: number): FakeItem[] {
  const entries = [...generateListings(shared, COMMON), ...generateListings(LISTINGS - shared, n + 1)]
  return entries.map(({ key: listingId, seller, position, bytes }) => {
    const storefrontUrl = `https://seller-${seller}.compute.example/`
    return { listingId, position, bytes, storefrontUrl, publisher: `0x${seller}` }
  })
}

function makeQueries(spec: FilterSpec): ListingQuery[] {
  const random = randomFrom(11)
  return Array.from({ length: WARM_UP + QUERIES }, () => {
    const filters = [...randomFilters(random, 1 + Math.floor(random() * 3))]
    const criteria = parseCriteria(spec, filters)
    return { status: 'open', publisher: null, criteria, filters }
  })
}
