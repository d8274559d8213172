import { NO_FILTER, type StandingFilter } from './query.ts'

/** What a reader of a market sees, and how much may be asked. */
export type Reader = {
  /** Name of the view. */
  view: string
  /** Names of the sources that exist for the reader; `null`: all. */
  sources: ReadonlySet<string> | null
  filter: StandingFilter
  /** Of everything that decides what the reader sees: sources and ranks, filter, filter spec, tokens, vocabulary. */
  digest: string
  limits: ReaderLimits
}

/** Of one key of the view; `null`: as configured for all. */
type ReaderLimits = { requestsPerMinute: number | null; maxWatchers: number | null }

/** Of a market without views, such as that of a buyer's Registries. */
export const SEES_ALL: Reader = {
  view: 'all',
  sources: null,
  filter: NO_FILTER,
  digest: '',
  limits: { requestsPerMinute: null, maxWatchers: null },
}

/** Of requests that no view is asked for. */
export const SEES_NOTHING: Reader = { ...SEES_ALL, view: 'none', sources: new Set(), digest: 'none' }

/** What is outside the view does not exist for the reader. */
export function maySee({ sources }: Reader, { name }: { name: string }): boolean {
  return sources?.has(name) ?? true
}
