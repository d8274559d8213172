import { SourceError } from '../domain/source-error.ts'
import { EntrepotError } from '../errors.ts'
import type { Asking, MergedAnswer, Outcome } from './fan-out.ts'
import type { SourceReport } from './source-report.ts'

/** Throws for an answer that nobody is to take for one: see `fanOut`. */
export const refuseUnusable = (
  { total, sources, outcomes }: Pick<MergedAnswer, 'total' | 'sources' | 'outcomes'>,
  { requireAll = false, isLoop = false }: Asking,
): void => {
  if (requireAll && sources.some(({ state }) => state !== 'loaded')) throw notAll(sources)
  if (!outcomes.some(isUsable)) throw nothingUsable(outcomes, sources, isLoop)
  const upstreams = outcomes.filter((outcome) => outcome.source.mode !== 'local' && !isAskedBefore(outcome))
  if (total === 0 && upstreams.length > 0 && !upstreams.some(isUsable) && !isLoop)
    throw nothingUsable(upstreams, sources, isLoop)
}

/** The question comes from there: it is asked for by who began it, and nothing is missing for want of it here. */
const isAskedBefore = ({ result }: Outcome): boolean =>
  result instanceof SourceError && result.reason === 'loop'

const notAll = (sources: readonly SourceReport[]): EntrepotError =>
  new EntrepotError('source_incomplete', 'Not every Registry has a current answer: see sources', {
    members: { sources },
  })

/** `failed`: those that could have answered, had all been well. */
export const nothingUsable = (
  failed: readonly Outcome[],
  sources: readonly SourceReport[],
  isLoop: boolean,
): EntrepotError => {
  const members = { sources }
  if (isLoop)
    return new EntrepotError('loop', 'The question has been through this gateway before', { members })
  const late = failed.length > 0 && failed.every(({ result }) => isTimeout(result))
  return late
    ? new EntrepotError('timeout', 'No Registry answered in time: see sources', { members })
    : new EntrepotError('unavailable', 'No Registry could answer: see sources', { members })
}

const isTimeout = (result: Outcome['result']): boolean =>
  result instanceof SourceError && result.reason === 'timeout'

const isUsable = ({ result }: Outcome): boolean => !(result instanceof SourceError)
