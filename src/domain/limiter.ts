export type LimitKind = 'anonymous' | 'read_key' | 'publish'

export type LimitState = {
  /** Per minute. */
  limit: number
  remaining: number
  /** Until the count restarts; at least 1. */
  resetSeconds: number
  exceeded: boolean
}

/** `null`: not limited, `who` is not called. Never rejects: without the store each process counts alone. */
export type Limiter = (kind: LimitKind, who: string | (() => string)) => Promise<LimitState> | null
