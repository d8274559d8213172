/** How the cache answered, for `Cache-Status` (RFC 9211). */
export type CacheDecision = {
  /**
   * `hit`: fresh. `revalidating`: served stale while it is fetched again. `stale`: served because fetching failed.
   * `miss`: fetched for this query.
   */
  outcome: 'hit' | 'revalidating' | 'stale' | 'miss'
  /** Seconds for which it stays fresh; negative once it is stale, 0 where it is not stored. */
  ttlSeconds: number
}

/** What an upstream's `Cache-Control` and `Age` say about one response (RFC 9111 section 5). */
export type Directives = {
  mayStore: boolean
  /** `null` where the upstream sets none. */
  maxAgeSeconds: number | null
  /** Whether it may be served once it is stale. */
  mayServeStale: boolean
  ageSeconds: number
}

export const NO_DIRECTIVES: Directives = {
  mayStore: true,
  maxAgeSeconds: null,
  mayServeStale: true,
  ageSeconds: 0,
}

/** The stricter of two, for an answer that was read in several responses. */
export function joinDirectives(one: Directives, other: Directives): Directives {
  if (other === NO_DIRECTIVES) return one
  const ages = [one.maxAgeSeconds, other.maxAgeSeconds].filter((seconds) => seconds !== null)
  return {
    mayStore: one.mayStore && other.mayStore,
    maxAgeSeconds: ages.length === 0 ? null : Math.min(...ages),
    mayServeStale: one.mayServeStale && other.mayServeStale,
    ageSeconds: Math.max(one.ageSeconds, other.ageSeconds),
  }
}

/** The life of a cached answer, in ms since the Unix epoch, in this order. */
export type Lifetime = {
  fetchedAt: number
  /** Fresh until here. */
  staleAt: number
  /** Served stale until here while it is fetched again; then readers wait for the new one. */
  revalidateUntil: number
  /** Served stale until here where fetching fails. */
  deleteAt: number
}

export type CachePolicy = {
  freshSeconds: number
  staleWhileRevalidateSeconds: number
  staleIfErrorSeconds: number
}

/** Freshness varies by this share, so that entries that were fetched together do not expire together. */
export const FRESHNESS_JITTER = 0.1

/**
 * The lifetime of an answer that arrived `now`; `null` where it is not stored. An upstream's directives shorten it and
 * never lengthen it: `max-age=0` is fetched every time and served only where fetching fails.
 *
 * @param random from 0 to 1
 */
export function lifetimeOf(
  policy: CachePolicy,
  { mayStore, maxAgeSeconds, mayServeStale, ageSeconds }: Directives,
  { now, random }: { now: number; random: number },
): Lifetime | null {
  if (!mayStore) return null
  const ours = policy.freshSeconds * (1 + FRESHNESS_JITTER * (2 * random - 1))
  const theirs = maxAgeSeconds === null ? Number.POSITIVE_INFINITY : Math.max(0, maxAgeSeconds - ageSeconds)
  const staleAt = now + Math.min(ours, theirs) * 1000
  const whileRevalidating = mayServeStale && theirs > 0 ? policy.staleWhileRevalidateSeconds : 0
  const ifError = mayServeStale ? policy.staleIfErrorSeconds : 0
  const revalidateUntil = staleAt + whileRevalidating * 1000
  const deleteAt = Math.max(revalidateUntil, staleAt + ifError * 1000)
  return deleteAt <= now ? null : { fetchedAt: now - ageSeconds * 1000, staleAt, revalidateUntil, deleteAt }
}

type Phase = 'fresh' | 'revalidate' | 'if_error' | 'expired'

/** An answer from the future has no known age, because the clock was set back: it is expired. */
export function phaseAt({ fetchedAt, staleAt, revalidateUntil, deleteAt }: Lifetime, now: number): Phase {
  if (now < fetchedAt) return 'expired'
  if (now < staleAt) return 'fresh'
  if (now < revalidateUntil) return 'revalidate'
  return now < deleteAt ? 'if_error' : 'expired'
}
