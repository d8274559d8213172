import { isSourceReason, traitsOf } from '../domain/source/reasons.ts'
import { formatAge } from '../domain/timestamp.ts'
import type { SourceNote } from './source.ts'

type Described = Pick<SourceNote, 'registry' | 'state' | 'reason'> & {
  filters?: unknown
  held?: unknown
  of?: unknown
  age_seconds?: unknown
}

/** Why a source, or a part of it, is missing from an answer, for people and agents: no full stop. `null` where it is there. */
export function describeMissing(source: Described): string | null {
  const { registry, state, reason, filters, age_seconds: age } = source
  if (hasAnswered(state)) return null
  // The gateway does not name the missing source.
  if (registry.endsWith('/*')) return `${registry.slice(0, -2)} reports that its own answer is incomplete`
  if (state === 'not_yet_loaded') return `${registry} is not loaded yet`
  const { held, of } = source
  const share =
    typeof held === 'number' && typeof of === 'number'
      ? `: ${held.toLocaleString('en')} of ${of.toLocaleString('en')}`
      : ''
  if (state === 'loading') return `${registry} is loading${share}`
  const isTooLarge = reason === undefined || reason === 'too_large'
  const cause = isTooLarge ? '' : `: it ${describeReason(reason)} (${reason})`
  if (state === 'partial') return `${registry} is held in part${share}${cause}`
  const names = Array.isArray(filters) && filters.length > 0 ? `: ${filters.join(', ')}` : ''
  const why = reason === undefined ? '' : `: it ${describeReason(reason)}${names} (${reason})`
  const ageWords = typeof age === 'number' ? `, and its listings shown here are ${formatAge(age)} old` : ''
  return `${registry} ${state === 'skipped' ? 'was skipped' : 'is unavailable'}${why}${ageWords}`
}

/** Whether all listings of the source are there. */
export function hasAnswered(state: string): boolean {
  return state === 'loaded' || state === 'stale'
}

/** Whether listings of the source are there: all, or the newest. */
export function isShown(state: string): boolean {
  return hasAnswered(state) || state === 'partial'
}

/** Whether the first pull of the source is under way. */
export function isArriving(state: string): boolean {
  return state === 'loading' || state === 'not_yet_loaded'
}

/** Words that follow "it". */
export function describeReason(reason: string): string {
  return isSourceReason(reason) ? traitsOf(reason).words : `failed with ${reason}`
}
