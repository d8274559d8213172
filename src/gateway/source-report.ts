import type { Page } from '../domain/page.ts'
import type { SourceError, SourceReason } from '../domain/source-error.ts'

/** `skipped`: could have answered, but not this query. */
export type SourceState = 'loaded' | 'stale' | 'unavailable' | 'not_yet_loaded' | 'skipped'

/** What a reader learns of one source: an entry of `sources` in the envelope, as it is sent (`contract.md` 3.1). */
export type SourceReport = {
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

export const reportFailure = (registry: string, error: SourceError, elapsedMs: number): SourceReport =>
  SKIPPING.has(error.reason)
    ? {
        registry,
        state: 'skipped',
        reason: error.reason,
        ...(error.filters.length === 0 ? {} : { filters: error.filters }),
      }
    : {
        registry,
        ...(error.reason === 'not_yet_loaded'
          ? { state: 'not_yet_loaded' }
          : { state: 'unavailable', reason: error.reason }),
        matched: null,
        returned: 0,
        elapsed_ms: Math.round(elapsedMs),
      }

/** The source is well; it is the query that it cannot answer. */
const SKIPPING: ReadonlySet<SourceReason> = new Set([
  'unsupported_filter',
  'schema_mismatch',
  'scan_limit',
  'loop',
])
