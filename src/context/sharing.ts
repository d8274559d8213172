import type { Cache } from '../cache/cache.ts'
import { LruCache } from '../cache/lru.ts'
import type { Config } from '../config.ts'
import type { Notice } from '../domain/breaker.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import { pageGroup } from '../gateway/page-key.ts'
import { type ListingPage, parseListingPage, retainedBytes } from '../upstream/listing-page.ts'
import type { Foundation } from './foundation.ts'
import type { Opened } from './shared-parts.ts'

/** What replicas share about one upstream. */
export type Sharing = {
  /** How its pages are kept. */
  cache: Cache<ListingPage>
  /** Where it is told that it is to be left alone; `null` where there is nobody to be told. */
  notice: Notice | null
}

export type PageSharing = {
  of: (upstream: UpstreamOptions) => Sharing
  /** Goes by this configuration's `cache.max_bytes` from now on. */
  fit: (config: Config) => void
}

const PREFIX = 'entrepot:'

/**
 * Composition of what is shared: one cache for all upstreams in this process, and behind it, for all replicas, the
 * Redis that is the store.
 */
export const openSharing = async (
  config: Config,
  { clock, redisUrl }: Foundation,
): Promise<Opened<PageSharing>> => {
  const { now } = clock
  let current = config
  const near = new LruCache<ListingPage>({ maxBytes: config.cache.maxBytes, sizeOf: retainedBytes, now })
  const fit = (next: Config): void => {
    if (next.cache.maxBytes !== current.cache.maxBytes) near.resize(next.cache.maxBytes)
    current = next
  }
  const alone: Sharing = { cache: near, notice: null }
  if (redisUrl === null) return { value: { of: () => alone, fit }, close: () => {} }
  const [{ RedisCache }, { redisNotice }, { TieredCache }, { counterClient }] = await Promise.all([
    import('../cache/redis.ts'),
    import('../cache/redis-notice.ts'),
    import('../cache/tiered.ts'),
    import('../store/redis-connection.ts'),
  ])
  const client = counterClient(redisUrl)
  // The store has to be there at the start; a cache may come later.
  client.connect().catch(() => {})
  const maxGroupBytes = () => Math.floor(current.cache.maxBytes / current.upstreams.length)
  const of = (upstream: UpstreamOptions): Sharing => {
    if (current.cache.maxBytes === 0) return alone
    const { kind } = upstream
    // Read as if it came from the upstream: who else writes into that Redis is not known here.
    const codec = { encode: pageBytes, decode: (bytes: Buffer) => parseListingPage(bytes, kind) }
    const far = new RedisCache({ client, prefix: `${PREFIX}pages:`, maxGroupBytes, codec, now })
    return {
      cache: new TieredCache(near, far),
      notice: redisNotice({ client, key: `${PREFIX}open:${pageGroup(upstream)}`, now }),
    }
  }
  return { value: { of, fit }, close: () => client.disconnect() }
}

const pageBytes = ({ bytes }: ListingPage): Uint8Array => bytes
