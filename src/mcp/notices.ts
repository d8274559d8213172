import type { Completeness, SourceNote } from '../gateway/discovery.ts'

/**
 * Whether an answer is all there is, in words for an agent: what is missing, why, and what not to conclude from it.
 * Names and reasons only, none of a listing's text.
 */
export const describeCompleteness = ({ complete, sources }: Completeness): string => {
  const stale = sources.flatMap(describeStale)
  const ages = stale.length === 0 ? '' : ` ${stale.join(' ')}`
  if (complete) return `Complete: every source answered.${ages}`
  const missing = sources.flatMap(describeMissing).join('; ') || 'a source did not answer'
  return `INCOMPLETE: ${missing}. More may exist there: do not conclude from this answer that nothing else does.${ages}`
}

const describeMissing = (source: SourceNote): string[] => {
  const { registry, state, reason, filters, age_seconds: age } = source
  if (isAnswer(state)) return []
  // A gateway that does not name what it misses.
  if (registry.endsWith('/*')) return [`${registry.slice(0, -2)} says that its own answer is not complete`]
  if (state === 'not_yet_loaded') return [`${registry} has not been loaded yet`]
  const why = (...more: string[]): string => (reason === undefined ? '' : ` (${[reason, ...more].join(' ')})`)
  return state === 'skipped'
    ? [`${registry} was skipped${why(...listOf(filters))}`]
    : [`${registry} could not be reached${why()}${typeof age === 'number' ? keptFor(age) : ''}`]
}

/** Of what stands behind a gateway old listings may be shown, without the answer being complete for it. */
const keptFor = (seconds: number): string => `, and what is shown of it is ${seconds} s old`

const describeStale = ({ registry, state, reason, age_seconds: age }: SourceNote): string[] =>
  state === 'stale'
    ? [`${registry} was answered from a copy of ${Number(age ?? 0)} s ago${reason ? ` (${reason})` : ''}.`]
    : []

const isAnswer = (state: string): boolean => state === 'loaded' || state === 'stale'

const listOf = (filters: unknown): string[] =>
  Array.isArray(filters) ? filters.filter((name) => typeof name === 'string') : []
