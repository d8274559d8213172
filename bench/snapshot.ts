import { fileURLToPath } from 'node:url'
import { LruCache } from '../src/cache/lru.ts'
import { systemClock } from '../src/domain/clock.ts'
import type { Item } from '../src/domain/page.ts'
import type { ListingQuery } from '../src/domain/query.ts'
import { SourceError } from '../src/domain/source-error.ts'
import type { UpstreamOptions } from '../src/domain/upstream.ts'
import type { FilterSpec } from '../src/filter-spec/filter.ts'
import { readFilterSpec } from '../src/filter-spec/load.ts'
import { parseCriteria } from '../src/filter-spec/parameters.ts'
import { fanOut } from '../src/gateway/fan-out.ts'
import { createSnapshotSource, type SnapshotSource } from '../src/gateway/snapshot-source.ts'
import { createUpstreamSource } from '../src/gateway/upstream-source.ts'
import type { FetchListings } from '../src/upstream/fetch-listings.ts'
import { readPrefix } from '../src/upstream/read-prefix.ts'
import { SpecKeeper } from '../src/upstream/spec-keeper.ts'
import type { Bench } from './bench.ts'
import { generateListings, randomFrom } from './generate-listings.ts'
import { askedFilters } from './index.ts'
import type { Row } from './table.ts'

const UPSTREAMS = 20
const LISTINGS = 10_000
const QUERIES = 3000
const WARM_UP = 500

export const snapshot: Bench = {
  name: 'snapshot',
  what: `${UPSTREAMS} upstreams × ${LISTINGS.toLocaleString('en')} listings in snapshot mode; a page of 50 through one to three filters, in process, nothing cached`,
  run: async () => {
    const spec = readFilterSpec(fileURLToPath(new URL('../config/filter-spec.yaml', import.meta.url)))
    const sources = await Promise.all(Array.from({ length: UPSTREAMS }, (_, n) => openUpstream(n, spec)))
    while (!sources.every((source) => source.wasTried())) await new Promise(setImmediate)
    const federation = fanOut(
      sources.map(({ source }) => source),
      { budgetMs: 4000 },
    )
    const times: number[] = []
    let matches = 0
    for (const query of makeQueries(spec)) {
      const started = performance.now()
      const { total } = await federation(query, { kind: 'anonymous' }, new AbortController().signal)
      times.push(performance.now() - started)
      matches += total
    }
    await Promise.all(sources.map((source) => source.close()))
    return rowsFor(times.slice(WARM_UP), matches / QUERIES)
  },
}

const openUpstream = (n: number, spec: FilterSpec): Promise<SnapshotSource> => {
  const upstream: UpstreamOptions = {
    name: `upstream-${n}`,
    url: 'http://registry.example',
    kind: 'registry',
    visibility: 'public',
    mode: 'snapshot',
    key: null,
    priority: n + 1,
    timeoutMs: 2500,
    connectTimeoutMs: 1000,
    maxInFlight: 8,
    refreshSeconds: 3600,
    scanLimit: 2000,
    maxListings: LISTINGS,
    allowPrivateAddresses: false,
  }
  const common = { upstream, schema: null, clock: systemClock, random: Math.random }
  const live = createUpstreamSource({
    ...common,
    fetch: nobody,
    read: (fetch) => (query, signal) => readPrefix(upstream, fetch, query, signal),
    vocabulary: new SpecKeeper(async () => null, systemClock),
    cache: new LruCache({ maxBytes: 0, sizeOf: () => 0, now: Date.now }),
    policy: { freshSeconds: 0, staleWhileRevalidateSeconds: 0, staleIfErrorSeconds: 0 },
    budgetMs: 4000,
  })
  const filters = [...spec.filters.values()]
  return createSnapshotSource({
    ...common,
    live,
    pull: async () => ({ kind: 'whole', listings: listingsOf(n), invalid: 0 }),
    filters: () => filters,
    keeping: null,
    log: { info: () => {}, warn: () => {} },
  })
}

const nobody: FetchListings = async () => {
  throw new SourceError('connection_refused', 'nobody is there')
}

/** The same sellers trade everywhere; no listing is in two places. */
const listingsOf = (n: number): Map<string, Item> => {
  const items = Array.from(generateListings(LISTINGS, n + 1), (entry): Item => {
    const { listingId, publisherId, createdAt, bytes } = entry
    const storefrontUrl = `https://seller-${publisherId}.compute.example/`
    return { listingId, createdAt, bytes, storefrontUrl, publisher: `0x${publisherId}` }
  })
  return new Map(items.map((item) => [item.listingId, item]))
}

const makeQueries = (spec: FilterSpec): ListingQuery[] => {
  const random = randomFrom(11)
  return Array.from({ length: WARM_UP + QUERIES }, () => {
    const filters = [...askedFilters(random, 1 + Math.floor(random() * 3))]
    const criteria = parseCriteria(spec, filters)
    return { status: 'open', publisher: null, criteria, filters, limit: 50, offset: 0 }
  })
}

const rowsFor = (times: readonly number[], matches: number): Row[] => {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0
  return [
    { measure: 'merged page, p50', value: at(0.5), unit: 'ms', budget: '1' },
    { measure: 'merged page, p99', value: at(0.99), unit: 'ms' },
    { measure: 'matches, mean', value: matches, unit: 'listings' },
  ]
}
