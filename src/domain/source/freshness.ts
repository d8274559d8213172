/** How the cache answered, for `Cache-Status` (RFC 9211). */
export type CacheDecision = {
  /** `revalidating`: served stale during a refetch. `stale`: served because the fetch failed. */
  outcome: 'hit' | 'revalidating' | 'stale' | 'miss'
  /** Seconds that it stays fresh: negative once stale, 0 where not stored. */
  ttlSeconds: number
}

/** An upstream's `Cache-Control` and `Age` for one response (RFC 9111 section 5). */
export type Directives = {
  mayStore: boolean
  maxAgeSeconds: number | null
  mayServeStale: boolean
  ageSeconds: number
}

export const NO_DIRECTIVES: Directives = {
  mayStore: true,
  maxAgeSeconds: null,
  mayServeStale: true,
  ageSeconds: 0,
}

/** The stricter of two. */
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
