import type { Gap } from './gap.ts'

const SHOWN_REASONS = [
  'timeout',
  'connection_refused',
  'connection_reset',
  'dns',
  'tls',
  'unauthorized',
  'rate_limited',
  'circuit_open',
  'not_json',
  'bad_envelope',
  'too_large',
  'unsupported_filter',
  'schema_mismatch',
  'loop',
  'budget_spent',
  'scan_limit',
] as const

/**
 * Why a source did not answer: `contract.md` 3.1, plus `http_<status>`. `not_yet_loaded` is a state there, and shown as
 * nothing else.
 */
export type SourceReason = (typeof SHOWN_REASONS)[number] | 'not_yet_loaded' | `http_${number}`

/** Whether a stranger's word is one of the reasons that readers are shown. */
export const isSourceReason = (value: unknown): value is SourceReason =>
  SHOWN_REASONS.some((reason) => reason === value) ||
  (typeof value === 'string' && /^http_\d{3}$/.test(value))

/** A source that could not answer, with the reason that a reader is shown. Its message is for the log. */
export class SourceError extends Error {
  readonly reason: SourceReason
  /** For `unsupported_filter`: the filters that the source cannot take. */
  readonly filters: readonly string[]
  /** How long the source asks us to stay away, in ms; `null` where it does not say. */
  readonly retryAfterMs: number | null
  /** Of a gateway that could not answer: what it names as missing. */
  readonly gaps: readonly Gap[] | undefined

  constructor(
    reason: SourceReason,
    message: string,
    extras: {
      cause?: unknown
      filters?: readonly string[]
      retryAfterMs?: number | null
      gaps?: readonly Gap[] | undefined
    } = {},
  ) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause })
    this.name = 'SourceError'
    this.reason = reason
    this.filters = extras.filters ?? []
    this.retryAfterMs = extras.retryAfterMs ?? null
    this.gaps = extras.gaps
  }
}

/** Whether the source is well and has answered: it is the question that it cannot take. */
export const isAboutQuestion = (reason: SourceReason): boolean => ABOUT_QUESTION.has(reason)

const ABOUT_QUESTION: ReadonlySet<SourceReason> = new Set([
  'unsupported_filter',
  'schema_mismatch',
  'scan_limit',
  'loop',
  'http_400',
  'http_412',
  'http_508',
])
