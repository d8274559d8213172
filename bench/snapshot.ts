import { fileURLToPath } from 'node:url'
import { systemClock } from '../src/domain/clock.ts'
import { TokenTable } from '../src/domain/price/token.ts'
import type { PageQuery } from '../src/domain/query.ts'
import type { NamedSource } from '../src/domain/source/named-source.ts'
import type { Item } from '../src/domain/source/reading.ts'
import { SourceError } from '../src/domain/source/source-error.ts'
import type { FilterSpec } from '../src/filter-spec/filter.ts'
import { readFilterSpec } from '../src/filter-spec/load.ts'
import { parseCriteria } from '../src/filter-spec/parameters.ts'
import { createReadPage } from '../src/gateway/pages.ts'
import { SnapshotPuller, SnapshotState } from '../src/upstream/snapshot/puller.ts'
import { SnapshotSource } from '../src/upstream/snapshot/snapshot-source.ts'
import { generateListings, randomFrom } from './generate-listings.ts'
import { randomFilters } from './index.ts'
import type { Bench, TableRow } from './table.ts'

const UPSTREAMS = 20
const LISTINGS = 10_000
const QUERIES = 3000
const WARM_UP = 500

export const snapshot: Bench = {
  name: 'snapshot',
  what: `${UPSTREAMS} upstreams × ${LISTINGS.toLocaleString('en')} listings in snapshot mode; a page of 50 through one to three filters, in process, nothing cached`,
  run: async () => {
    const spec = readFilterSpec(fileURLToPath(new URL('../config/filter-spec.yaml', import.meta.url)))
    const pulled = Array.from({ length: UPSTREAMS }, (_, n) => startPuller(n, spec))
    const pullers = pulled.map(({ puller }) => puller)
    await Promise.all(pullers.map(({ ready }) => ready))
    const readPage = createReadPage({
      sources: pulled.map(({ state }, n) => sourceOf(state, n)),
      budgetMs: 4000,
      clock: systemClock,
      tokens: new TokenTable([]),
      cursors: null,
    })
    const mergeOptions = { reader: { kind: 'anonymous' }, signal: new AbortController().signal } as const
    const times: number[] = []
    let matches = 0
    for (const query of makeQueries(spec)) {
      const started = performance.now()
      const { total } = await readPage(query, null, mergeOptions)
      times.push(performance.now() - started)
      matches += total
    }
    await Promise.all(pullers.map((puller) => puller.close()))
    return rowsFor(times.slice(WARM_UP), matches / QUERIES)
  },
}

function startPuller(n: number, spec: FilterSpec): { puller: SnapshotPuller; state: SnapshotState } {
  const state = new SnapshotState()
  const puller = new SnapshotPuller({
    upstream: { name: `upstream-${n}`, refreshSeconds: 3600, maxListings: LISTINGS },
    pull: async () => ({ listings: listingsOf(n), invalid: 0 }),
    filters: () => [...spec.filters.values()],
    storage: null,
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
    upstream: { name, refreshSeconds: 3600 },
    state,
    live: { read: notReachable, select: notReachable },
    requireSchema: () => {},
    clock: systemClock,
  })
  return { name, visibility: 'public', priority: n + 1, mode: 'snapshot', read: snapshot.read }
}

/** All Registries have the same sellers and different listings. */
function listingsOf(n: number): Map<string, Item> {
  const items = Array.from(generateListings(LISTINGS, n + 1), (entry): Item => {
    const { listingId, publisherId, createdAt, bytes } = entry
    const storefrontUrl = `https://seller-${publisherId}.compute.example/`
    const publisher = `0x${publisherId}`
    return { listingId, createdAt, position: createdAt, bytes, storefrontUrl, publisher }
  })
  return new Map(items.map((item) => [item.listingId, item]))
}

function makeQueries(spec: FilterSpec): PageQuery[] {
  const random = randomFrom(11)
  return Array.from({ length: WARM_UP + QUERIES }, () => {
    const filters = [...randomFilters(random, 1 + Math.floor(random() * 3))]
    const criteria = parseCriteria(spec, filters)
    return { status: 'open', publisher: null, criteria, filters, limit: 50, offset: 0 }
  })
}

function rowsFor(times: readonly number[], matches: number): TableRow[] {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0
  return [
    { measure: 'merged page, p50', value: at(0.5), unit: 'ms', budget: '0.6' },
    { measure: 'merged page, p99', value: at(0.99), unit: 'ms' },
    { measure: 'matches, mean', value: matches, unit: 'listings' },
  ]
}
