import { LruCache } from '../src/cache/lru.ts'
import { systemClock } from '../src/domain/clock.ts'
import { conditionsOf, ListingPage } from '../src/upstream/page/listing-page.ts'
import { Run } from '../src/upstream/reading/run.ts'
import { RunCache, RunCacheState } from '../src/upstream/reading/run-cache.ts'
import { PLAIN_QUERY } from '../src/upstream/upstream-query.ts'
import { generateListings } from './generate-listings.ts'

/**
 * Distinct queries through the cache of one upstream, in its own process. Prints the bytes that the cache counts and the
 * resident memory that it adds. Arguments: queries, listings of each answer, `max_bytes`.
 */
const [questions = 0, listings = 0, maxBytes = 0] = process.argv.slice(2).map(Number)

const items = Array.from(generateListings(listings), ({ bytes }) => Buffer.from(bytes).toString()).reverse()
const body = `{"items":[${items.join(',')}],"count":${listings},"total_after_filter":${listings}}`
const upstream = {
  name: 'upstream',
  url: 'http://registry.example',
  kind: 'registry',
  key: null,
  pin: null,
} as const

async function measure(count: number, most: number): Promise<{ counted: number; resident: number }> {
  const local = new LruCache<Run>({
    maxBytes: most,
    sizeOf: ({ retainedBytes }) => retainedBytes,
    now: Date.now,
  })
  const runs = new RunCache({
    upstream: { ...upstream, allowPrivateAddresses: false },
    read: async (query) => {
      const run = new Run(upstream.kind, { after: null, asOf: Date.now() })
      // Its own buffer, like the client's.
      const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(body))
      bytes.write(body)
      const page = new ListingPage(bytes, { kind: 'registry', conditions: conditionsOf(query), offset: 0 })
      run.add(run.describe(page))
      run.isEnded = true
      return run
    },
    runs: local,
    state: new RunCacheState(),
    policy: { freshSeconds: 15, staleWhileRevalidateSeconds: 60, staleIfErrorSeconds: 900 },
    maxReadMs: 3000,
    onServe: () => {},
    clock: systemClock,
    random: Math.random,
  })
  const { signal } = new AbortController()
  for (let n = 0; n < count; n++) {
    const pushed = [['region', String(n)]] as const
    await runs.read({ ...PLAIN_QUERY, pushed }, { after: null, offsetHint: 0, count: 50 }, signal)
    if (n % 100 === 0) await new Promise(setImmediate)
  }
  const counted = runs.counts.bytes
  const resident = await settledResidentBytes()
  // It must not be collected before the measurement.
  if (local.get('', '') !== null) throw new Error('an entry that was not stored')
  return { counted, resident }
}

async function settledResidentBytes(): Promise<number> {
  for (let n = 0; n < 5; n++) {
    global.gc?.()
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return process.memoryUsage().rss
}

const idle = await measure(questions, 0)
const busy = await measure(questions, maxBytes)
process.stdout.write(JSON.stringify({ counted: busy.counted, resident: busy.resident - idle.resident }))
