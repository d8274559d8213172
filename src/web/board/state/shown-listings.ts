import { parameterOf, type Query, queryString, withValue } from '../view.ts'
import { type Listings, type ListingsOptions, useListings } from './listings.ts'
import { type Progress, useProgress } from './progress.ts'

type ShownListings = {
  listings: Listings
  /** What is shown: of the sources that have answered, while others are waited for. */
  shownQuery: Query
  /** While there is no answer. */
  progress: Progress | null
}

/** The listings of a query; while a source is slow, those of the sources that have answered. */
export function useShownListings(
  query: Query,
  { isAsked, ...options }: ListingsOptions & { isAsked: boolean },
): ShownListings {
  const whole = useListings(isAsked ? queryString(query) : null, options)
  const isWaiting = isAsked && (whole.isPrevious || whole.total === null) && whole.error === null
  const progress = useProgress(query, { ...options, isWaiting })
  const earlyQuery = progress && queryOfAnswered(query, progress)
  const early = useListings(earlyQuery && queryString(earlyQuery), options)
  const reports = early.sources ?? []
  if (earlyQuery === null || !early.total)
    return { listings: whole, shownQuery: earlyQuery ?? query, progress }
  const names = [...progress!.answered.map(({ registry }) => registry), ...progress!.silent]
  const awaited = names.filter((name) => !reports.some(({ registry }) => registry === name))
  const listings = {
    ...early,
    isPrevious: false,
    isComplete: false,
    changesPosition: null,
    awaited,
    retry: whole.retry,
  }
  return { listings, shownQuery: earlyQuery, progress }
}

/** `null` where nothing can be shown before the whole answer. */
function queryOfAnswered(query: Query, { answered, silent }: Progress): Query | null {
  const hasListings = answered.some(({ listings }) => listings !== 0)
  if (silent.length === 0 || !hasListings || parameterOf(query, 'require') !== null) return null
  return withValue(query, 'sources', answered.map(({ registry }) => registry).join(','))
}
