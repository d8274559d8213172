import type { MissingSource } from './missing-source.ts'
import type { SourceReason } from './reasons.ts'

/** `reason` is for readers, `message` for the log. */
export class SourceError extends Error {
  readonly reason: SourceReason
  readonly filters: readonly string[]
  readonly retryAfterMs: number | null
  readonly missing: readonly MissingSource[] | undefined

  constructor(
    reason: SourceReason,
    message: string,
    extras: {
      cause?: unknown
      filters?: readonly string[]
      retryAfterMs?: number | null
      missing?: readonly MissingSource[] | undefined
    } = {},
  ) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause })
    this.name = 'SourceError'
    this.reason = reason
    this.filters = extras.filters ?? []
    this.retryAfterMs = extras.retryAfterMs ?? null
    this.missing = extras.missing
  }
}
