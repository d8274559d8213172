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

/** When a cached answer changes phase, of `Clock.monotonic`, in this order. */
export type Lifetime = {
  staleAt: number
  /** Until here it is served stale during a refetch; after that readers wait. */
  revalidateUntil: number
  /** Until here it is served stale if the fetch fails. */
  deleteAt: number
}

export type CachePolicy = {
  freshSeconds: number
  staleWhileRevalidateSeconds: number
  staleIfErrorSeconds: number
}

/** Share by which freshness varies, so that entries that were fetched together do not expire together. */
export const FRESHNESS_JITTER = 0.1

/** `null`: not stored. Directives only shorten it: `max-age=0` is served only if a refetch fails. */
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
  return deleteAt <= now ? null : { staleAt, revalidateUntil, deleteAt }
}

type Phase = 'fresh' | 'revalidate' | 'if_error' | 'expired'

export function phaseAt({ staleAt, revalidateUntil, deleteAt }: Lifetime, now: number): Phase {
  if (now < staleAt) return 'fresh'
  if (now < revalidateUntil) return 'revalidate'
  return now < deleteAt ? 'if_error' : 'expired'
}
