import type { Cache } from './cache/cache.ts'
import { LruCache } from './cache/lru.ts'
import type { Config } from './config.ts'
import type { Clock } from './domain/clock.ts'
import type { UpstreamKind } from './domain/upstream.ts'
import { type ListingPage, parseListingPage, retainedBytes } from './upstream/listing-page.ts'

/** How the pages of an upstream of that kind are kept. */
export type PageCacheFor = (kind: UpstreamKind) => Cache<ListingPage>

export type PageCacheOptions = {
  config: Config
  clock: Clock
  /** The Redis that replicas share; `null` where there is none. */
  redisUrl: string | null
  onClose: (close: () => unknown) => void
}

const PREFIX = 'entrepot:cache:'

/** Composition of the cache: one for all upstreams in this process, and behind it the Redis that is the store. */
export const openPageCache = async (options: PageCacheOptions): Promise<PageCacheFor> => {
  const { config, clock, redisUrl, onClose } = options
  const { now } = clock
  const { maxBytes } = config.cache
  const near = new LruCache<ListingPage>({ maxBytes, sizeOf: retainedBytes, now })
  if (redisUrl === null) return () => near
  const [{ RedisCache }, { TieredCache }, { counterClient }] = await Promise.all([
    import('./cache/redis.ts'),
    import('./cache/tiered.ts'),
    import('./store/redis-connection.ts'),
  ])
  const client = counterClient(redisUrl)
  onClose(() => client.disconnect())
  // The store has to be there at the start; a cache may come later.
  client.connect().catch(() => {})
  return (kind) => {
    // Read as if it came from the upstream: who else writes into that Redis is not known here.
    const codec = { encode: pageBytes, decode: (bytes: Buffer) => parseListingPage(bytes, kind) }
    return new TieredCache(near, new RedisCache({ client, prefix: PREFIX, codec, now }))
  }
}

const pageBytes = ({ bytes }: ListingPage): Uint8Array => bytes
