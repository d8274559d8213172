import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { LruCache } from '../src/cache/lru.ts'
import { systemClock } from '../src/domain/clock.ts'
import { CachedPages } from '../src/gateway/cached.ts'
import { parseListingPage, retainedBytes } from '../src/upstream/listing-page.ts'
import type { Bench } from './bench.ts'
import { generateListings } from './generate-listings.ts'

const QUERIES = 200_000
const MAX_BYTES = 64 * 1024 * 1024
const LISTINGS = 3

export const churn: Bench = {
  name: 'churn',
  what: `${QUERIES.toLocaleString('en')} distinct queries through the cache of one upstream, ${LISTINGS} listings each; max_bytes ${MAX_BYTES / 1024 / 1024} MiB`,
  run: async () => {
    const pages = new CachedPages({
      upstream: {
        name: 'upstream',
        url: 'http://registry.example',
        kind: 'registry',
        key: null,
        timeoutMs: 1000,
      },
      fetch: async () => parseListingPage(Buffer.from(BODY)),
      cache: new LruCache({ maxBytes: MAX_BYTES, sizeOf: retainedBytes, now: Date.now }),
      policy: { freshSeconds: 15, staleWhileRevalidateSeconds: 60, staleIfErrorSeconds: 900 },
      flightMs: 3000,
      clock: systemClock,
      random: Math.random,
    })
    const before = heldBytes()
    const { signal } = new AbortController()
    for (let n = 0; n < QUERIES; n++) {
      const filters = [['region', String(n)]] as const
      await pages.fetch(
        { status: 'open', publisher: null, criteria: [], filters, limit: 50, offset: 0 },
        0,
        signal,
      )
      if (n % 1000 === 0) await new Promise(setImmediate)
    }
    const held = heldBytes() - before
    return [
      {
        'counted, MiB': pages.counts.bytes / 1024 / 1024,
        'held, MiB': held / 1024 / 1024,
        'of max_bytes': held / MAX_BYTES,
        budget: '1.2',
      },
    ]
  },
}

const ITEMS = Array.from(generateListings(LISTINGS), ({ bytes }) => Buffer.from(bytes).toString())
const BODY = `{"items":[${ITEMS.toReversed().join(',')}],"count":${LISTINGS},"total_after_filter":${LISTINGS}}`

const heldBytes = (): number => {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
