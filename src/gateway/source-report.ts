import type { CacheDecision } from '../domain/freshness.ts'
import type { Gap } from '../domain/gap.ts'
import type { NamedSource, Page } from '../domain/page.ts'
import { SourceError, type SourceReason } from '../domain/source-error.ts'
import type { SourceDetails } from '../domain/source-status.ts'

/** `skipped`: could have answered, but not this query. */
export type SourceState = 'loaded' | 'stale' | 'unavailable' | 'not_yet_loaded' | 'skipped'

/** What a reader learns of one source: an entry of `sources` in the envelope, as it is sent (`contract.md` 3.1). */
export type SourceReport = {
  /** A source's name, or `eu/curated` of what the gateway `eu` says that it has not reached. */
  registry: string
  state: SourceState
  reason?: SourceReason
  /** For `unsupported_filter`: which. */
  filters?: readonly string[]
  /** Matches in this source before paging and deduplication; `null` where it did not say. */
  matched?: number | null
  /** Items of the page that are this source's copies. */
  returned?: number
  age_seconds?: number
  elapsed_ms?: number
  /** Items that were no listings and were dropped. */
  invalid?: number
  /** Of what a gateway remembers to be missing: ids of those that it was heard from. */
  via?: readonly string[]
  /** Where the question asks to explain. */
  explain?: ReportedExplanation
}

/** How a source came to its answer (`contract.md` 3.1, `explain=true`). */
export type ReportedExplanation = {
  /** The query string that it was sent, without paging; absent for a source in memory. */
  query?: string
  /** How the cache came by the answer; `none` where there is no cache. */
  cache: CacheDecision['outcome'] | 'none'
  /** Absent for a source that is not called. */
  breaker?: SourceDetails['breaker']['state']
  excluded: Readonly<Record<string, { by_value: number; missing: number }>>
}

export const reportPage = (
  registry: string,
  page: Page,
  returned: number,
  elapsedMs: number,
): SourceReport => ({
  registry,
  state: page.stale ? 'stale' : 'loaded',
  matched: page.total,
  returned,
  age_seconds: Math.floor(page.ageSeconds),
  elapsed_ms: Math.round(elapsedMs),
  ...(page.reason === undefined ? {} : { reason: page.reason }),
  ...(page.invalid === undefined ? {} : { invalid: page.invalid }),
})

/** What a gateway says is missing in its answer, under the name that readers know it by. */
export const reportGap = (
  gateway: string,
  { registry, state, reason, ageSeconds, via }: Gap,
): SourceReport => ({
  registry: `${gateway}/${registry}`,
  state,
  ...(reason === undefined ? {} : { reason }),
  matched: null,
  returned: 0,
  ...(ageSeconds === undefined ? {} : { age_seconds: Math.floor(ageSeconds) }),
  ...(via === undefined ? {} : { via }),
})

/** `returned`: of a source that failed midway, how many were shown before. */
export const reportFailure = (
  registry: string,
  error: SourceError,
  elapsedMs: number,
  returned = 0,
): SourceReport =>
  SKIPPING.has(error.reason)
    ? {
        registry,
        state: 'skipped',
        reason: error.reason,
        ...(error.filters.length === 0 ? {} : { filters: error.filters }),
        ...(returned === 0 ? {} : { returned }),
      }
    : {
        registry,
        ...(error.reason === 'not_yet_loaded'
          ? { state: 'not_yet_loaded' }
          : { state: 'unavailable', reason: error.reason }),
        matched: null,
        returned,
        elapsed_ms: Math.round(elapsedMs),
      }

export const explainSource = (
  { breaker }: Pick<NamedSource, 'breaker'>,
  result: Page | SourceError,
): ReportedExplanation => {
  const page = result instanceof SourceError ? null : result
  const { sent, excluded = [] } = page?.explanation ?? {}
  return {
    ...(sent === undefined ? {} : { query: sent }),
    cache: page?.cache?.outcome ?? 'none',
    ...(breaker === undefined ? {} : { breaker: breaker() }),
    excluded: Object.fromEntries(
      excluded.map(({ filter, byValue, missing }) => [filter, { by_value: byValue, missing }]),
    ),
  }
}

/** The source is well; it is the query that it cannot answer. */
const SKIPPING: ReadonlySet<SourceReason> = new Set([
  'unsupported_filter',
  'schema_mismatch',
  'scan_limit',
  'loop',
])
