import { fileURLToPath } from 'node:url'
import { systemClock } from '../src/domain/clock.ts'
import { TokenTable } from '../src/domain/price/token.ts'
import type { ListingQuery } from '../src/domain/query.ts'
import { SEES_ALL } from '../src/domain/reader.ts'
import type { NamedSource } from '../src/domain/source/named-source.ts'
import type { Item } from '../src/domain/source/reading.ts'
import { SourceError } from '../src/domain/source/source-error.ts'
import type { FilterSpec } from '../src/filter-spec/filter.ts'
import { readFilterSpec } from '../src/filter-spec/load.ts'
import { parseCriteria } from '../src/filter-spec/parameters.ts'
import { ItemPrices } from '../src/gateway/by-price/item-prices.ts'
import { NO_BOUNDS } from '../src/gateway/by-price/price-bounds.ts'
import { Holdings } from '../src/gateway/holdings.ts'
import { readPage } from '../src/gateway/pages.ts'
import { rankSources } from '../src/gateway/sources.ts'
import { PLAIN_QUERY } from '../src/upstream/push-down.ts'
import { SnapshotPuller } from '../src/upstream/snapshot/puller.ts'
import { SnapshotSource } from '../src/upstream/snapshot/snapshot-source.ts'
import { SnapshotState } from '../src/upstream/snapshot/snapshot-state.ts'
import { VOCABULARY } from '../test/helpers/vocabulary.ts'
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
  what: `${UPSTREAMS} upstreams × ${LISTINGS.toLocaleString('en')} listings in snapshot mode, which have none or half of their listings in common; a page of 50 through one to three filters, in process, nothing cached`,
  run: async () => [
    ...(await measure('own listings', 0)),
    ...(await measure('half are copies', LISTINGS / 2)),
  ],
}

async function measure(listings: string, shared: number): Promise<TableRow[]> {
  const spec = readFilterSpec(fileURLToPath(new URL('../config/filter-spec.yaml', import.meta.url)))
  const pulled = Array.from({ length: UPSTREAMS }, (_, n) => startPuller(n, spec, shared))
  await Promise.all(pulled.map(({ puller }) => puller.ready))
  const sources = pulled.map(({ state }, n) => sourceOf(state, n))
  const settings = {
    sources,
    holdings: new Holdings(rankSources(sources)),
    budgetMs: 4000,
    clock: systemClock,
    tokens: new TokenTable([]),
    itemPrices: new ItemPrices(new TokenTable([])),
    boundsOf: async () => NO_BOUNDS,
    vocabulary: VOCABULARY,
    cursors: null,
  }
  const request = { reader: SEES_ALL, signal: new AbortController().signal } as const
  const timedPage = async (query: ListingQuery): Promise<{ ms: number; total: number }> => {
    const started = performance.now()
    const { total } = await readPage(settings, query, { limit: 50, offset: 0, cursor: null }, request)
    return { ms: performance.now() - started, total }
  }
  const queries = makeQueries(spec)
  const pages: { ms: number; total: number }[] = []
  for (const query of queries) pages.push(await timedPage(query))
  const measured = pages.slice(WARM_UP)
  const afterChanges: number[] = []
  for (const id of [...pulled[0]!.state.current!.snapshot.listingIds].slice(0, CHANGES)) {
    pulled[0]!.puller.remove([id], id)
    afterChanges.push((await timedPage(queries[afterChanges.length]!)).ms)
  }
  await Promise.all(pulled.map(({ puller }) => puller.close()))
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

const PERIODS = { refreshSeconds: 3600, fullRefreshSeconds: 3600, followedRefreshSeconds: 3600 }

function startPuller(
  n: number,
  spec: FilterSpec,
  shared: number,
): { puller: SnapshotPuller; state: SnapshotState } {
  const state = new SnapshotState()
  const puller = new SnapshotPuller({
    upstream: { name: `upstream-${n}`, kind: 'registry', key: null, ...PERIODS, maxListings: LISTINGS },
    get: () => Promise.reject(new SourceError('connection_refused', 'not reachable')),
    query: () => PLAIN_QUERY,
    fetchFirstPage: async () => ({
      query: PLAIN_QUERY,
      askedAt: systemClock.now(),
      page: null,
      counts: null,
    }),
    pull: async () => ({ listings: listingsOf(n, shared), invalid: 0 }),
    attribute: async () => {},
    inTurn: (work) => work(),
    maxBytes: () => Number.POSITIVE_INFINITY,
    filters: () => [...spec.filters.values()],
    storage: null,
    shared: null,
    onResize: () => {},
    state,
    clock: systemClock,
    random: Math.random,
    log: { info: () => {}, warn: () => {} },
  })
  puller.pull()
  return { puller, state }
}

function sourceOf(state: SnapshotState, n: number): NamedSource {
  const name = `upstream-${n}`
  const notReachable = () => Promise.reject(new SourceError('connection_refused', `${name}: not reachable`))
  const snapshot = new SnapshotSource({
    upstream: { name, kind: 'registry', ...PERIODS, maxAgeSeconds: null },
    state,
    puller: { refresh: async () => {}, arrival: Promise.resolve(), onRead: () => {}, remove: () => {} },
    freshSeconds: 3600,
    lookUp: notReachable,
    publishers: { isBehind: false },
    requireSchema: () => {},
    clock: systemClock,
  })
  return {
    name,
    visibility: 'public',
    priority: n + 1,
    mode: 'snapshot',
    read: snapshot.read,
    select: snapshot.select,
    held: snapshot.held,
  }
}

/** All Registries have the same sellers, the first `shared` listings in common, and further ones of their own. */
function listingsOf(n: number, shared: number): Map<string, Item> {
  const entries = [...generateListings(shared, COMMON), ...generateListings(LISTINGS - shared, n + 1)]
  const items = entries.map((entry): Item => {
    const { listingId, publisherId, createdAt, bytes } = entry
    const storefrontUrl = `https://seller-${publisherId}.compute.example/`
    const publisher = `0x${publisherId}`
    return { listingId, createdAt, position: createdAt, bytes, storefrontUrl, publisher }
  })
  return new Map(items.map((item) => [item.listingId, item]))
}

function makeQueries(spec: FilterSpec): ListingQuery[] {
  const random = randomFrom(11)
  return Array.from({ length: WARM_UP + QUERIES }, () => {
    const filters = [...randomFilters(random, 1 + Math.floor(random() * 3))]
    const criteria = parseCriteria(spec, filters)
    return { status: 'open', publisher: null, criteria, filters }
  })
}
