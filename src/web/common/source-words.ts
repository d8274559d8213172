import type { SourceReport } from './source-report.ts'

/** Words that follow "it". */
const REASONS: Readonly<Record<string, string>> = {
  timeout: 'did not answer in time',
  connection_refused: 'refused the connection',
  connection_reset: 'broke the connection off',
  dns: 'has a name that cannot be looked up',
  tls: 'has no trustworthy certificate',
  unauthorized: "does not accept this gateway's key",
  rate_limited: 'asks for fewer requests',
  circuit_open: 'has failed repeatedly and is being left alone for a moment',
  not_json: 'answered something that is not JSON',
  bad_envelope: 'answered something that is no list of listings',
  too_large: 'answered more than this gateway takes',
  unsupported_filter: 'does not know a filter of this question',
  schema_mismatch: 'deals in another kind of listing',
  loop: 'would have asked this gateway in turn',
  budget_spent: 'would have taken longer than this question may',
  scan_limit: 'has more listings than may be read through for this question',
  unstable: 'changes faster than it can be read',
  unsorted: 'does not list its newest first, and has too many to be sorted here',
  private_address: 'leads to a private address, which this gateway may not ask',
  signed_requests_required: 'takes signed requests only',
}

export function reasonWords(reason: string | null): string {
  if (reason === null) return 'did not answer'
  const status = /^http_(\d{3})$/.exec(reason)?.[1]
  if (status !== undefined) return `answered with status ${status}`
  return REASONS[reason] ?? `failed (${reason})`
}

export function missingWords(report: SourceReport): string | null {
  const { registry, state, reason, ageSeconds } = report
  if (state === 'loaded' || state === 'stale') return null
  // The gateway does not name what it misses.
  const unnamed = /^(.*)\/\*$/.exec(registry)?.[1]
  if (unnamed !== undefined) return `${unnamed} says that its own answer is not complete.`
  const lost =
    ageSeconds === null
      ? 'Its listings are missing here.'
      : `What is shown of it is what it said ${ageWords(ageSeconds)} ago.`
  if (state === 'not_yet_loaded') return `${registry} has not been read yet. ${lost}`
  const which = report.filters.length === 0 ? '' : ` (${report.filters.join(', ')})`
  return `${registry} ${state === 'skipped' ? 'was left out: it ' : ''}${reasonWords(reason)}${which}. ${lost}`
}

/** `42 s`, `3 min`, `2 h`. */
export function ageWords(seconds: number): string {
  if (seconds < 60) return `${Math.floor(seconds)} s`
  return seconds < 3600 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h`
}

const STATES: Readonly<Record<string, string>> = {
  loaded: 'loaded',
  stale: 'old copy',
  unavailable: 'unavailable',
  not_yet_loaded: 'not read yet',
  skipped: 'left out',
}

export const stateWords = (state: string): string => STATES[state] ?? state
