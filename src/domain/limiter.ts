export type LimitKind = 'anonymous' | 'read_key' | 'publish' | 'principal' | 'signed_address'

export type LimitState = {
  /** Per minute. */
  limit: number
  remaining: number
  /** Until the count restarts; at least 1. */
  resetSeconds: number
  exceeded: boolean
}

/**
 * `null`: not limited, and `client` is not called. Never rejects: without the store each process counts alone.
 * @param perMinute in place of the configured limit; `null` or absent: that one
 */
export type Limiter = (
  kind: LimitKind,
  client: string | (() => string),
  perMinute?: number | null,
) => Promise<LimitState> | null
