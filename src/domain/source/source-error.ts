import type { MissingSource } from './missing-source.ts'
import { type SourceReason, type Traits, traitsOf } from './reasons.ts'

/** `reason` is for readers, `message` for the log. */
export class SourceError extends Error {
  readonly reason: SourceReason
  readonly filters: readonly string[]
  readonly retryAfterMs: number | null
  readonly missing: readonly MissingSource[] | undefined
  /** Not asked: the source has failed for this reason before, and is tried again in a moment. */
  readonly isPaused: boolean

  constructor(
    reason: SourceReason,
    message: string,
    extras: {
      cause?: unknown
      filters?: readonly string[]
      retryAfterMs?: number | null
      missing?: readonly MissingSource[] | undefined
      isPaused?: boolean
    } = {},
  ) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause })
    this.name = 'SourceError'
    this.reason = reason
    this.filters = extras.filters ?? []
    this.retryAfterMs = extras.retryAfterMs ?? null
    this.missing = extras.missing
    this.isPaused = extras.isPaused ?? false
  }

  get traits(): Traits {
    const traits = traitsOf(this.reason)
    return this.isPaused ? { ...traits, isOutage: true, splitsPage: 'never' } : traits
  }
}
