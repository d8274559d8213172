import type { CacheDecision } from '../domain/freshness.ts'
import type { MissingSource } from '../domain/missing-source.ts'
import type { NamedSource, ReadingInfo } from '../domain/reading.ts'
import { SourceError } from '../domain/source-error.ts'
import type { SourceReason } from '../domain/source-reason.ts'
import type { SourceDetails } from '../domain/source-status.ts'
import type { MergedItem } from './merged-item.ts'
import type { Outcome } from './outcome.ts'

/** `skipped`: the source works, but cannot answer this question. */
export type SourceState = 'loaded' | 'stale' | 'unavailable' | 'not_yet_loaded' | 'skipped'

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
export function describeOutcomes(
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

export function reportMissing(
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
