import type { REASONS } from '../domain/source/source-reason.ts'
import { formatAge } from '../domain/timestamp.ts'
import type { SourceNote } from './source.ts'

type Described = Pick<SourceNote, 'registry' | 'state' | 'reason'> & {
  filters?: unknown
  age_seconds?: unknown
}

/** Why a source is missing from an answer, for people and agents: no full stop. `null` where it answered. */
export function describeMissing(source: Described): string | null {
  const { registry, state, reason, filters, age_seconds: age } = source
  if (hasAnswered(state)) return null
  // The gateway does not name the missing source.
  if (registry.endsWith('/*')) return `${registry.slice(0, -2)} reports that its own answer is incomplete`
  if (state === 'not_yet_loaded') return `${registry} is not loaded yet`
  const names = Array.isArray(filters) && filters.length > 0 ? `: ${filters.join(', ')}` : ''
  const why = reason === undefined ? '' : `: it ${describeReason(reason)}${names} (${reason})`
  const shown = typeof age === 'number' ? `, and its listings shown here are ${formatAge(age)} old` : ''
  return `${registry} ${state === 'skipped' ? 'was skipped' : 'is unavailable'}${why}${shown}`
}

export function hasAnswered(state: string): boolean {
  return state === 'loaded' || state === 'stale'
}

/** Words that follow "it". */
export function describeReason(reason: string): string {
  const status = /^http_(\d{3})$/.exec(reason)?.[1]
  if (status !== undefined) return `answered with status ${status}`
  return isReason(reason) ? REASON_WORDS[reason] : `failed with ${reason}`
}

function isReason(reason: string): reason is keyof typeof REASON_WORDS {
  return Object.hasOwn(REASON_WORDS, reason)
}

const REASON_WORDS: Readonly<Record<(typeof REASONS)[number], string>> = {
  timeout: 'did not answer in time',
  connection_refused: 'refused the connection',
  connection_reset: 'closed the connection early',
  dns: 'has a host name that does not resolve',
  tls: 'has a certificate that is not trusted',
  unauthorized: 'requires a valid API key',
  rate_limited: 'limits the rate of requests',
  circuit_open: 'failed repeatedly and is not requested for a moment',
  not_json: 'sent an answer that is not JSON',
  bad_envelope: 'sent an answer that is not a list of listings',
  too_large: 'sent an answer that is too large',
  unsupported_filter: 'does not support a filter of the query',
  schema_mismatch: 'serves listings of another schema',
  loop: 'would request this gateway in turn',
  budget_spent: 'would exceed the time limit of the query',
  scan_limit: 'has more listings than may be scanned for the query',
  unstable: 'changes faster than it can be read',
  unsorted: 'does not list its newest listings first, and has too many to sort here',
  private_address: 'has a private address, which is not allowed',
  signed_requests_required: 'requires signed requests',
}
