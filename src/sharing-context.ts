import type { Cache } from './cache/cache.ts'
import { LruCache } from './cache/lru.ts'
import type { Config } from './config.ts'
import type { Notice } from './domain/breaker.ts'
import type { Clock } from './domain/clock.ts'
import type { UpstreamOptions } from './domain/upstream.ts'
import { pageGroup } from './gateway/page-key.ts'
import { type ListingPage, parseListingPage, retainedBytes } from './upstream/listing-page.ts'

/** What replicas share about one upstream. */
export type Sharing = {
  /** How its pages are kept. */
  cache: Cache<ListingPage>
  /** Where it is told that it is to be left alone; `null` where there is nobody to be told. */
  notice: Notice | null
}

export type SharingOptions = {
  config: Config
  clock: Clock
  /** The Redis that replicas share; `null` where there is none. */
  redisUrl: string | null
  onClose: (close: () => unknown) => void
}

const PREFIX = 'entrepot:'

/**
 * Composition of what is shared: one cache for all upstreams in this process, and behind it, for all replicas, the
 * Redis that is the store.
 */
export const openSharing = async (
  options: SharingOptions,
): Promise<(upstream: UpstreamOptions) => Sharing> => {
  const { config, clock, redisUrl, onClose } = options
  const { now } = clock
  const { maxBytes } = config.cache
  const near = new LruCache<ListingPage>({ maxBytes, sizeOf: retainedBytes, now })
  if (redisUrl === null || maxBytes === 0) return () => ({ cache: near, notice: null })
  const [{ RedisCache }, { redisNotice }, { TieredCache }, { counterClient }] = await Promise.all([
    import('./cache/redis.ts'),
    import('./cache/redis-notice.ts'),
    import('./cache/tiered.ts'),
    import('./store/redis-connection.ts'),
  ])
  const client = counterClient(redisUrl)
  onClose(() => client.disconnect())
  // The store has to be there at the start; a cache may come later.
  client.connect().catch(() => {})
  const maxGroupBytes = Math.floor(maxBytes / config.upstreams.length)
  return (upstream) => {
    const { kind } = upstream
    // Read as if it came from the upstream: who else writes into that Redis is not known here.
    const codec = { encode: pageBytes, decode: (bytes: Buffer) => parseListingPage(bytes, kind) }
    const far = new RedisCache({ client, prefix: `${PREFIX}pages:`, maxGroupBytes, codec, now })
    return {
      cache: new TieredCache(near, far),
      notice: redisNotice({ client, key: `${PREFIX}open:${pageGroup(upstream)}`, now }),
    }
  }
}

const pageBytes = ({ bytes }: ListingPage): Uint8Array => bytes
