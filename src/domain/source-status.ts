import type { MissingSource } from './missing-source.ts'
import type { SourceMode, Visibility } from './reading.ts'
import type { SourceReason } from './source-reason.ts'

/** The state of one source, apart from any one query: an entry of `GET /sources`. */
export type SourceStatus = {
  name: string
  mode: SourceMode
  visibility: Visibility
  state: 'loaded' | 'stale' | 'unavailable' | 'not_yet_loaded'
  /** Seconds since it last answered; `null` where it never has. */
  ageSeconds: number | null
  /** What went wrong last; `null` where nothing has. `at` is milliseconds since the Unix epoch. */
  lastError: { reason: SourceReason; at: number } | null
  /** The schema id that its filter spec declares; `null` where it declares none or is not known yet. */
  schemaId: string | null
  /** Names of the filters that it declares; `null` where its filter spec is not known yet. */
  filters: readonly string[] | null
  /** Listings that it last said it has, unfiltered and open; `null` where not known. */
  listings: number | null
  /** What a gateway's latest answer reported as missing; absent where nothing was. */
  missing?: readonly MissingSource[]
}

/** What only the operator sees of a source. */
export type SourceDetails = SourceStatus & {
  breaker: { state: 'closed' | 'open' | 'half_open'; failuresInARow: number; retryAt: number | null }
  cache: { fresh: number; stale: number; miss: number; bytes: number }
  calls: {
    made: number
    failed: number
    retried: number
    failuresByReason: Readonly<Record<string, number>>
    /** Calls that are over, and the milliseconds that they took together. */
    ended: number
    elapsedMs: number
  }
  /** Listings that came, and those among them that were none and were dropped. */
  items: { received: number; invalid: number }
}
