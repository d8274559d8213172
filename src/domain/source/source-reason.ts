export const REASONS = [
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
  'unstable',
  'unsorted',
  'private_address',
  'signed_requests_required',
] as const

/** `not_yet_loaded` is shown as a state, the others as its `reason`. */
export type SourceReason = (typeof REASONS)[number] | 'not_yet_loaded' | `http_${number}`

export function isSourceReason(value: unknown): value is SourceReason {
  return (
    REASONS.some((reason) => reason === value) || (typeof value === 'string' && /^http_\d{3}$/.test(value))
  )
}

/** Whether readers see the source as `skipped`, and not as `unavailable`. */
export function isSkipReason(reason: SourceReason): boolean {
  return SKIPPED.has(reason)
}

/** Whether the source works but cannot answer this question. */
export function isAboutQuestion(reason: SourceReason): boolean {
  return ABOUT_QUESTION.has(reason)
}

/** Whether the upstream refused our credential. Its older listings are then hidden too. */
export function isRefusal(reason: SourceReason): boolean {
  return reason === 'unauthorized' || reason === 'signed_requests_required'
}

const SKIPPED: ReadonlySet<SourceReason> = new Set([
  'unsupported_filter',
  'schema_mismatch',
  'scan_limit',
  'loop',
])

const ABOUT_QUESTION: ReadonlySet<SourceReason> = new Set([...SKIPPED, 'http_400', 'http_412', 'http_508'])
