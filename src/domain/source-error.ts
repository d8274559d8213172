import type { MissingSource } from './missing-source.ts'
import type { SourceReason } from './source-reason.ts'

/** A source that could not answer, with the reason that a reader sees. Its message is for the log. */
export class SourceError extends Error {
  readonly reason: SourceReason
  /** For `unsupported_filter`: the filters that the source cannot apply. */
  readonly filters: readonly string[]
  /** `Retry-After` in ms; `null` where there is none. */
  readonly retryAfterMs: number | null
  /** What a gateway that could not answer reports as missing. */
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
