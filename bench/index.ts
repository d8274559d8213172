import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { FilterSpec } from '../src/filter-spec/filter.ts'
import { readFilterSpec } from '../src/filter-spec/load.ts'
import { parseCriteria } from '../src/filter-spec/parameters.ts'
import type { Row } from '../src/listing-index/copy.ts'
import type { CopyPage } from '../src/listing-index/copy-matches.ts'
import type { CopyConditions } from '../src/listing-index/match.ts'
import { OneSource } from '../test/helpers/one-source.ts'
import {
  favouring,
  GPU_COUNTS,
  generateListings,
  MEMORY_GB,
  MODELS,
  REGIONS,
  randomFrom,
  type SeededRandom,
  TOKENS,
} from './generate-listings.ts'
import type { Bench, TableRow } from './table.ts'

export const LISTINGS = 1_000_000
const QUERIES = 2_000
const WARM_UP = 300
/** Of listings in one turn of the event loop, as a replica applies changes. Only the puts are timed. */
const PORTION = 250
const CHANGES_A_SECOND = 200

export const index: Bench = {
  name: 'index',
  what: `${LISTINGS.toLocaleString('en')} listings in memory; a page of 50 through three filters, exact total, nothing cached`,
  run: async () => {
    const spec = readFilterSpec(fileURLToPath(new URL('../config/filter-spec.yaml', import.meta.url)))
    const built = await build(spec)
    const queries = makeQueries(spec, built.index)
    for (const query of queries.slice(0, WARM_UP)) built.index.query(query)
    const times = queries.slice(WARM_UP).map((query) => timed(() => built.index.query(query)))
    const beside = askBesideChanges(built.index, queries.slice(WARM_UP))
    const inOrder = [times, beside].map((all) => all.toSorted((a, b) => a - b))
    return rowsFor(built, inOrder[0]!, inOrder[1]!)
  },
}

/** Only the questions are timed: in each second of them, so many listings are closed or opened again. */
function askBesideChanges(index: OneSource, queries: readonly IndexQuery[]): number[] {
  const changes = generateListings(LISTINGS)
  let changed = 0
  let asked = 0
  return queries.map((query) => {
    const time = timed(() => index.query(query))
    asked += time / 1000
    for (; changed < asked * CHANGES_A_SECOND; changed++) {
      const listing = changes.next().value!
      index.put({ ...listing, status: listing.status === 'open' ? 'closed' : 'open' })
    }
    return time
  })
}

type IndexQuery = CopyConditions & CopyPage
type Built = { index: OneSource; seconds: number; listingBytes: number; residentBytes: number }

export async function build(spec: FilterSpec): Promise<Built> {
  const index = new OneSource(spec.filters.values())
  let milliseconds = 0
  let listingBytes = 0
  let portion: Row[] = []
  for (const entry of generateListings(LISTINGS)) {
    listingBytes += entry.bytes.length
    portion.push(entry)
    if (portion.length < PORTION) continue
    const full = portion
    milliseconds += timed(() => {
      for (const one of full) index.put(one)
    })
    portion = []
    await new Promise(setImmediate)
  }
  collectGarbage()
  return { index, seconds: milliseconds / 1000, listingBytes, residentBytes: process.memoryUsage.rss() }
}

/** Three different filters each; half have a token, most a range; four in ten read a deep page. */
function makeQueries(spec: FilterSpec, index: OneSource): IndexQuery[] {
  const random = randomFrom(7)
  return Array.from({ length: WARM_UP + QUERIES }, (): IndexQuery => {
    const criteria = parseCriteria(spec, [...randomFilters(random, 3)])
    const query: IndexQuery = { status: 'open', criteria, limit: 50 }
    if (random() >= 0.4) return query
    return { ...query, offset: Math.floor(random() * index.query(query).total) }
  })
}

/** `count` different filters; half of the results include a token. */
export function randomFilters(random: SeededRandom, count: number): Map<string, string> {
  const pairs = new Map<string, string>()
  if (random() < 0.5) pairs.set('token', favouring(TOKENS, random))
  while (pairs.size < count) {
    const [name, value] = FILTER_VALUES[Math.floor(random() * FILTER_VALUES.length)]!
    pairs.set(name, value(random))
  }
  return pairs
}

const FILTER_VALUES: readonly (readonly [name: string, value: (random: SeededRandom) => string])[] = [
  ['gpu_model', (random) => favouring(MODELS, random)],
  ['gpu_model', (random) => `in:[${favouring(MODELS, random)},${favouring(MODELS, random)}]`],
  ['region', (random) => favouring(REGIONS, random)],
  ['virtualization_type', () => 'vm'],
  ['static_ip', () => 'true'],
  ['sla', () => '99.9'],
  ['token_exclude', (random) => `not_in:[${favouring(TOKENS, random)}]`],
  ['gpu_count_min', (random) => String(favouring(GPU_COUNTS, random))],
  ['ram_gb_min', (random) => `range:[${favouring(MEMORY_GB, random)},1024]`],
  ['vcpu_count_min', (random) => String(Math.floor(random() * 192))],
  ['disk_gb_min', (random) => String(Math.floor(random() * 20_000))],
  ['internet_download_mbps_min', (random) => String(Math.floor(random() * 10_000))],
]

/** @param times ascending */
export function percentile(times: readonly number[], share: number): number {
  return times[Math.floor(times.length * share)]!
}

export function memoryRow({ listingBytes, residentBytes }: Built, budget: string): TableRow {
  return { measure: 'resident memory', value: residentBytes / listingBytes, unit: '× listing bytes', budget }
}

function rowsFor(built: Built, times: readonly number[], beside: readonly number[]): TableRow[] {
  const { seconds, listingBytes } = built
  return [
    { measure: 'query, p50', value: percentile(times, 0.5), unit: 'ms', budget: '0.5' },
    { measure: 'query, p99', value: percentile(times, 0.99), unit: 'ms', budget: '3' },
    { measure: 'query, slowest', value: times.at(-1)!, unit: 'ms' },
    {
      measure: `query beside ${CHANGES_A_SECOND} changes a second, p50`,
      value: percentile(beside, 0.5),
      unit: 'ms',
      budget: '1',
    },
    { measure: 'put one by one', value: LISTINGS / seconds, unit: 'listings/s' },
    { measure: 'listing', value: listingBytes / LISTINGS, unit: 'bytes' },
    memoryRow(built, '1.6'),
  ]
}

export function timed(run: () => unknown): number {
  const start = performance.now()
  run()
  return performance.now() - start
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}
