import { SourceError } from '../domain/source-error.ts'
import { EntrepotError } from '../errors.ts'
import type { FanOutOptions, Outcome } from './outcome.ts'
import type { SourceReport } from './source-report.ts'

/**
 * Refuses an answer that a reader could mistake for "nothing found": from no source, or empty without any
 * upstream.
 * @throws EntrepotError `source_incomplete`, `unavailable` or `timeout`, with `sources` among its members
 */
export function assertAnswerable(
  {
    total,
    sources,
    outcomes,
  }: { total: number; sources: readonly SourceReport[]; outcomes: readonly Outcome[] },
  { requireAll = false, isLoop = false }: FanOutOptions,
): void {
  if (requireAll && sources.some(({ state }) => state !== 'loaded'))
    throw new EntrepotError('source_incomplete', 'Not every Registry has a current answer: see sources', {
      members: { sources },
    })
  if (!outcomes.some(hasAnswered)) throw nothingUsable(outcomes, sources, isLoop)
  const upstreams = outcomes.filter((outcome) => outcome.source.mode !== 'local' && !isLoopSkip(outcome))
  if (total === 0 && upstreams.length > 0 && !upstreams.some(hasAnswered) && !isLoop)
    throw nothingUsable(upstreams, sources, isLoop)
}

export function nothingUsable(
  failed: readonly Outcome[],
  sources: readonly SourceReport[],
  isLoop: boolean,
): EntrepotError {
  const members = { sources }
  if (isLoop)
    return new EntrepotError('loop', 'The question has been through this gateway before', { members })
  const isLate = failed.length > 0 && failed.every(({ result }) => hasReason(result, 'timeout'))
  return isLate
    ? new EntrepotError('timeout', 'No Registry answered in time: see sources', { members })
    : new EntrepotError('unavailable', 'No Registry could answer: see sources', { members })
}

/** The gateway where the question began reads that source itself. */
function isLoopSkip({ result }: Outcome): boolean {
  return hasReason(result, 'loop')
}

function hasReason(result: Outcome['result'], reason: SourceError['reason']): boolean {
  return result instanceof SourceError && result.reason === reason
}

function hasAnswered({ result }: Outcome): boolean {
  return !(result instanceof SourceError)
}
