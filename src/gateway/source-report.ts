import type { CacheDecision } from '../domain/freshness.ts'
import type { MissingSource } from '../domain/missing-source.ts'
import type { NamedSource, ReadingInfo } from '../domain/reading.ts'
import { SourceError } from '../domain/source-error.ts'
import type { SourceReason } from '../domain/source-reason.ts'
import type { SourceDetails } from '../domain/source-status.ts'
import type { MergedItem } from './merged-item.ts'
import type { Outcome } from './outcome.ts'

/** `skipped`: works, but cannot answer this question. */
export type SourceState = 'loaded' | 'stale' | 'unavailable' | 'not_yet_loaded' | 'skipped'

/** One entry of `sources` in an envelope, as it is sent. */
export type SourceReport = {
  /** A source's name, or `eu/curated` for what the gateway `eu` reports as missing. */
  registry: string
  state: SourceState
  reason?: SourceReason
  /** For `unsupported_filter`: which. */
  filters?: readonly string[]
  /** Matches in this source before paging and deduplication; `null` where it is not known. */
  matched?: number | null
  /** Items of the page that are this source's copies. */
  returned?: number
  age_seconds?: number
  elapsed_ms?: number
  /** Unreadable items that were dropped. */
  invalid?: number
  /** Of a missing source that a gateway remembers: the gateways that reported it. */
  via?: readonly string[]
  /** Only where the question asks to explain. */
  explain?: ReportedExplanation
}

/** How a source answered, for `explain=true`. */
type ReportedExplanation = {
  /** The query string that was sent, without paging; absent for a source in memory. */
  query?: string
  /** `none` where there is no cache. */
  cache: CacheDecision['outcome'] | 'none'
  /** Absent for a source that is not called. */
  breaker?: SourceDetails['breaker']['state']
  excluded: Readonly<Record<string, { by_value: number; missing: number }>>
}

/**
 * What readers see of the sources of an answer, and whether it is complete.
 * @param returned items that are shown of each source
 * @param now ms since the Unix epoch
 */
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

/** Items by the source whose copy is shown; added to what was counted before. */
export function countReturned(
  items: readonly MergedItem[],
  counts: Map<string, number> = new Map(),
): Map<string, number> {
  for (const { registry } of items) counts.set(registry, (counts.get(registry) ?? 0) + 1)
  return counts
}

/** Whether a source answered, and did not report its own answer as incomplete. */
export function isComplete({ result }: Outcome): boolean {
  return !(result instanceof SourceError) && result.missing === undefined
}

/** @param returned of a source that failed midway, the items that were shown before */
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

/** What a gateway reports as missing from its answer, by the name that readers know it by. */
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

/** The source works; it is the question that it cannot answer. */
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
