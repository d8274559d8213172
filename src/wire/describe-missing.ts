import { isSourceReason, traitsOf } from '../domain/source/reasons.ts'
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
  const ageWords = typeof age === 'number' ? `, and its listings shown here are ${formatAge(age)} old` : ''
  return `${registry} ${state === 'skipped' ? 'was skipped' : 'is unavailable'}${why}${ageWords}`
}

export function hasAnswered(state: string): boolean {
  return state === 'loaded' || state === 'stale'
}

/** Words that follow "it". */
export function describeReason(reason: string): string {
  return isSourceReason(reason) ? traitsOf(reason).words : `failed with ${reason}`
}
