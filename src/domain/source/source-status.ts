import type { Minute } from '../minutes.ts'
import type { Breaker } from './breaker.ts'
import type { Failure } from './failure.ts'
import type { SourcePart } from './holding.ts'
import type { MissingSource } from './missing-source.ts'
import type { SourceReason } from './reasons.ts'
import type { UpstreamOptions, Visibility } from './upstream.ts'

/** An entry of `GET /sources`. */
export type SourceStatus = {
  name: string
  /** Of the gateway's own Registry. */
  mode?: 'local'
  visibility: Visibility
  state: 'loaded' | 'stale' | 'unavailable' | 'not_yet_loaded' | SourcePart['state']
  part?: SourcePart | undefined
  ageSeconds: number | null
  lastError: Failure | null
  /** Declared by its filter spec; `null` where undeclared or unknown. */
  schemaId: string | null
  /** `null` until its filter spec is known. */
  filters: readonly string[] | null
  /** Open listings that are held. */
  listings: number | null
  missing?: readonly MissingSource[] | undefined
}

/** For the operator only. */
export type SourceDetails = SourceStatus & {
  breaker: BreakerStatus
  /** Memory of what is held. */
  bytes: number
  calls: {
    made: number
    failed: number
    retried: number
    failuresByReason: Readonly<Record<string, number>>
    /** Finished calls, and the sum of their milliseconds. */
    ended: number
    elapsedMs: number
  }
  items: { received: number; invalid: number }
  /** End of its certificate, in ms since the Unix epoch; `null` without TLS, or where none was seen yet. */
  certificateEndsAt: number | null
  /** Its stream of changes, while that is open and the source is held. */
  followed?: { behindSeconds: number } | undefined
  /** Listings that its stream of changes had missed, as pulls showed. */
  missedChanges?: number | undefined
  /** Why its streams of changes have broken off. */
  feedFailures?: Readonly<Record<string, number>> | undefined
  /** The latest, newest first. */
  failures: readonly Failure[]
  /** Of the last hour. */
  minutes: readonly Minute[]
  options: UpstreamOptions
}

export type BreakerStatus = Pick<Breaker, 'state' | 'failuresInARow' | 'retryAt'> & {
  /** After a rejected key or `Retry-After`: no calls until then. */
  suspended: { reason: SourceReason; until: number } | null
}

export type SourceLog = {
  info: (about: object, message: string) => void
  warn: (about: object, message: string) => void
}
