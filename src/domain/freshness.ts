import type { SourceReason } from './source-error.ts'

/** How the cache came by an answer, to be told as `Cache-Status` (RFC 9211). */
export type CacheDecision = {
  /**
   * `hit`: kept and fresh. `revalidating`: kept, no longer fresh, and shown while it is fetched anew. `stale`: kept,
   * and shown in place of an answer that could not be had. `miss`: fetched for this very query.
   */
  outcome: 'hit' | 'revalidating' | 'stale' | 'miss'
  /** Seconds for which it is still fresh, negative where it is no longer, 0 where it was not kept. */
  ttlSeconds: number
}

/** How old an answer is, and why it is shown. */
export type Freshness = {
  /** Seconds since the source said so. */
  ageSeconds: number
  /** `true` when it is shown in place of an answer that could not be had. */
  stale: boolean
  /** Why that could not be had. */
  reason?: SourceReason
  cache: CacheDecision
  /** Whether it may be given again without asking: it is fresh, and nobody has dropped it. `now`: spares it a look. */
  isCurrent: (now?: number) => boolean
}

/** What an answer is that was put together from these: as old as the oldest, and as good as the worst. */
export const worstOf = (parts: readonly Freshness[]): Freshness | null => {
  const worst = parts.toSorted((a, b) => RANK[b.cache.outcome] - RANK[a.cache.outcome])[0]
  if (worst === undefined) return null
  if (parts.length === 1) return worst
  const reason = parts.find(({ stale }) => stale)?.reason
  return {
    ageSeconds: Math.max(...parts.map(({ ageSeconds }) => ageSeconds)),
    stale: parts.some(({ stale }) => stale),
    ...(reason === undefined ? {} : { reason }),
    cache: {
      outcome: worst.cache.outcome,
      ttlSeconds: Math.min(...parts.map(({ cache }) => cache.ttlSeconds)),
    },
    isCurrent: (now) => parts.every(({ isCurrent }) => isCurrent(now)),
  }
}

const RANK: Readonly<Record<CacheDecision['outcome'], number>> = {
  hit: 0,
  revalidating: 1,
  miss: 2,
  stale: 3,
}

/** What an upstream says about keeping one answer: its `Cache-Control` and `Age` (RFC 9111 5). */
export type Directives = {
  /** `false`: not to be kept by a cache that many readers share. */
  mayStore: boolean
  /** Longest time, from when it was made, for which it counts as fresh; `null` where it does not say. */
  maxAgeSeconds: number | null
  /** `false`: never to be shown once it is no longer fresh. */
  mayServeStale: boolean
  /** Its age when it came. */
  ageSeconds: number
}

/** How long a kept answer is good for what. Milliseconds since the Unix epoch, in this order. */
export type Lifetime = {
  fetchedAt: number
  /** Fresh until here. */
  staleAt: number
  /** Until here shown at once while it is fetched anew; after it readers wait for the new one. */
  waitAt: number
  /** Until here shown in place of an answer that could not be had. */
  deleteAt: number
}

export type KeepingPolicy = {
  freshSeconds: number
  staleWhileRevalidateSeconds: number
  staleIfErrorSeconds: number
}

/** Freshness varies by this part of itself, so that what was fetched together does not end together. */
export const FRESHNESS_JITTER = 0.1

/**
 * The lifetime of an answer that came `now`; `null` where it is not to be kept. An upstream may shorten it, never
 * lengthen it: one that allows no freshness at all (`max-age=0`) is asked every time, and shown only in its absence.
 *
 * @param random from 0 to 1
 */
export const lifetimeOf = (
  policy: KeepingPolicy,
  { mayStore, maxAgeSeconds, mayServeStale, ageSeconds }: Directives,
  { now, random }: { now: number; random: number },
): Lifetime | null => {
  if (!mayStore) return null
  const ours = policy.freshSeconds * (1 + FRESHNESS_JITTER * (2 * random - 1))
  const theirs = maxAgeSeconds === null ? Number.POSITIVE_INFINITY : Math.max(0, maxAgeSeconds - ageSeconds)
  const staleAt = now + Math.min(ours, theirs) * 1000
  const whileRevalidating = mayServeStale && theirs > 0 ? policy.staleWhileRevalidateSeconds : 0
  const ifError = mayServeStale ? policy.staleIfErrorSeconds : 0
  const waitAt = staleAt + whileRevalidating * 1000
  const deleteAt = Math.max(waitAt, staleAt + ifError * 1000)
  return deleteAt <= now ? null : { fetchedAt: now - ageSeconds * 1000, staleAt, waitAt, deleteAt }
}

/** What a kept answer is good for at a time. */
export type Phase = 'fresh' | 'revalidate' | 'if_error' | 'gone'

export const phaseAt = ({ staleAt, waitAt, deleteAt }: Lifetime, now: number): Phase => {
  if (now < staleAt) return 'fresh'
  if (now < waitAt) return 'revalidate'
  return now < deleteAt ? 'if_error' : 'gone'
}
