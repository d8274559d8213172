/** What is counted: reads without a key, reads with one, signed mutations. */
export type LimitKind = 'anonymous' | 'read_key' | 'publish'

/** Where somebody stands after one more use. */
export type LimitState = {
  /** Uses a minute. */
  limit: number
  /** Uses left in this minute; 0 also when the limit is exceeded. */
  remaining: number
  /** Seconds until the count starts anew, at least 1. */
  resetSeconds: number
  exceeded: boolean
}

/**
 * Counts one use of `kind` by `who` (an address, a key's id, a publisher's identifier, each with its prefix), or by
 * whom it tells: it is asked only where that kind is limited.
 * `null` where that kind is not limited. Never rejects: a limiter that is away lets everybody through on its own count.
 */
export type Limiter = (kind: LimitKind, who: string | (() => string)) => Promise<LimitState> | null
