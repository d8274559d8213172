import type { CacheDecision } from '../domain/freshness.ts'
import type { MissingSource } from '../domain/missing-source.ts'
import type { NamedSource, ReadingInfo } from '../domain/reading.ts'
import { SourceError } from '../domain/source-error.ts'
import type { SourceReason } from '../domain/source-reason.ts'
import type { SourceDetails, SourceStatus } from '../domain/source-status.ts'
import { EntrepotError } from '../errors.ts'
import type { MergedItem } from './merged-item.ts'
import type { MergeOptions, Outcome } from './sources.ts'

/** `skipped`: the source works, but cannot answer this question. */
type SourceState = 'loaded' | 'stale' | 'unavailable' | 'not_yet_loaded' | 'skipped'

export type SourceReport = {
  /** `eu/curated` for a source that the gateway `eu` reports as missing. */
  registry: string
  state: SourceState
  reason?: SourceReason
  /** With `unsupported_filter`. */
  filters?: readonly string[]
  /** Before paging and deduplication; `null` where unknown. */
  matched?: number | null
  /** Items of the page. */
  returned?: number
  age_seconds?: number
  elapsed_ms?: number
  /** Unreadable items that were dropped. */
  invalid?: number
  /** The gateways that reported a missing source. */
  via?: readonly string[]
  explain?: ReportedExplanation
}

type ReportedExplanation = {
  /** As sent, without paging. */
  query?: string
  cache: CacheDecision['outcome'] | 'none'
  breaker?: SourceDetails['breaker']['state']
  excluded: Readonly<Record<string, { by_value: number; missing: number }>>
}

/** @param now ms since the Unix epoch */
export function reportOutcomes(
  outcomes: readonly Outcome[],
  returned: ReadonlyMap<string, number>,
  now: number,
  explain = false,
): { complete: boolean; sources: SourceReport[] } {
  const sources = outcomes.flatMap((outcome): SourceReport[] => {
    const { source, result } = outcome
    const report = reportOutcome(outcome, returned.get(source.name) ?? 0, now)
    const entry = explain ? { ...report, explain: explainSource(source, result) } : report
    return [entry, ...(result.missing ?? []).map((missing) => reportMissing(source.name, missing))]
  })
  return { complete: outcomes.every(isComplete), sources }
}

export function countReturned(
  items: readonly MergedItem[],
  counts: Map<string, number> = new Map(),
): Map<string, number> {
  for (const { registry } of items) counts.set(registry, (counts.get(registry) ?? 0) + 1)
  return counts
}

export function isComplete({ result }: Outcome): boolean {
  return !(result instanceof SourceError) && result.missing === undefined
}

/** @param returned not 0 for a source that failed after some pages */
function reportOutcome(
  {
    source: { name },
    result,
    elapsedMs,
  }: Pick<Outcome, 'result' | 'elapsedMs'> & { source: { name: string } },
  returned: number,
  now: number,
): SourceReport {
  return result instanceof SourceError
    ? reportFailure(name, result, elapsedMs, returned)
    : reportReading(name, result, { returned, elapsedMs, now })
}

function reportReading(
  registry: string,
  { stale, total, asOf, reason, invalid }: ReadingInfo,
  { returned, elapsedMs, now }: { returned: number; elapsedMs: number; now: number },
): SourceReport {
  return {
    registry,
    state: stale ? 'stale' : 'loaded',
    matched: total,
    returned,
    age_seconds: Math.max(0, Math.floor((now - asOf) / 1000)),
    elapsed_ms: Math.round(elapsedMs),
    ...(reason === undefined ? {} : { reason }),
    ...(invalid === undefined ? {} : { invalid }),
  }
}

function reportMissing(
  gateway: string,
  { registry, state, reason, ageSeconds, via }: MissingSource,
): SourceReport {
  return {
    registry: `${gateway}/${registry}`,
    state,
    ...(reason === undefined ? {} : { reason }),
    matched: null,
    returned: 0,
    ...(ageSeconds === undefined ? {} : { age_seconds: Math.floor(ageSeconds) }),
    ...(via === undefined ? {} : { via }),
  }
}

function reportFailure(
  registry: string,
  { reason, filters }: SourceError,
  elapsedMs: number,
  returned: number,
): SourceReport {
  if (SKIPPING.has(reason))
    return {
      registry,
      state: 'skipped',
      reason,
      ...(filters.length === 0 ? {} : { filters }),
      ...(returned === 0 ? {} : { returned }),
    }
  return {
    registry,
    ...(reason === 'not_yet_loaded' ? { state: 'not_yet_loaded' } : { state: 'unavailable', reason }),
    matched: null,
    returned,
    elapsed_ms: Math.round(elapsedMs),
  }
}

const SKIPPING: ReadonlySet<SourceReason> = new Set([
  'unsupported_filter',
  'schema_mismatch',
  'scan_limit',
  'loop',
])

function explainSource(
  { breaker }: Pick<NamedSource, 'breaker'>,
  result: Outcome['result'],
): ReportedExplanation {
  const reading = result instanceof SourceError ? null : result
  const { sent, excluded = [] } = reading?.explanation ?? {}
  return {
    ...(sent === undefined ? {} : { query: sent }),
    cache: reading?.cache?.outcome ?? 'none',
    ...(breaker === undefined ? {} : { breaker: breaker() }),
    excluded: Object.fromEntries(
      excluded.map(({ filter, byValue, missing }) => [filter, { by_value: byValue, missing }]),
    ),
  }
}

/** An entry of `GET /sources`. */
export const reportStatus = ({ name, mode, visibility, state, ...status }: SourceStatus) => ({
  registry: name,
  mode,
  visibility,
  state,
  age_seconds: status.ageSeconds === null ? null : Math.floor(status.ageSeconds),
  last_error:
    status.lastError === null ? null : { reason: status.lastError.reason, at: timeOf(status.lastError.at) },
  schema_id: status.schemaId,
  filters: status.filters,
  listings: status.listings,
  ...(status.missing === undefined
    ? {}
    : { gaps: status.missing.map((entry) => describeMissingSource(name, entry)) }),
})

function describeMissingSource(name: string, missing: MissingSource) {
  const { matched: _, returned: __, ...note } = reportMissing(name, missing)
  return note
}

/** ISO 8601, of ms since the Unix epoch. */
export const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString()

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
  { requireAll = false, isLoop = false }: MergeOptions,
): void {
  if (requireAll && sources.some(({ state }) => state !== 'loaded'))
    throw new EntrepotError('source_incomplete', 'Not every Registry has a current answer: see sources', {
      members: { sources },
    })
  if (!outcomes.some(hasAnswered)) throw noSourceError(outcomes, sources, isLoop)
  const upstreams = outcomes.filter((outcome) => outcome.source.mode !== 'local' && !isLoopSkip(outcome))
  if (total === 0 && upstreams.length > 0 && !upstreams.some(hasAnswered) && !isLoop)
    throw noSourceError(upstreams, sources, isLoop)
}

export function noSourceError(
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
