import { isDeepStrictEqual } from 'node:util'
import { endOfMs } from '../../../src/domain/timestamp.ts'
import type { Completeness } from './ask.ts'
import { type Counts, countsOf, listingsOf, type Question } from './model.ts'
import { judgeTotal } from './sequence.ts'
import type { Window } from './window.ts'

export type FoundCounts = Completeness & {
  asked: string
  question: Question
  isAtMost: boolean
  /** `null` where no source could answer. */
  counts: Counts | null
}

/** Totals are within bounds; where nothing changed, all counts are those of the model. */
export function judgeCountsOf(window: Window, found: FoundCounts, isExact: boolean): string[] {
  const { counts, question, begin, isAtMost } = found
  if (counts === null) return []
  const bounds = judgeTotal(window, { total: counts.total, isAtMost }, false)
  if (bounds.length > 0 || !isExact || isAtMost) return bounds
  const listings = listingsOf(window.paths, window.history.versions, question, endOfMs(begin.at))
  const expected = countsOf(listings)
  return (Object.keys(expected) as (keyof Counts)[])
    .filter((name) => !isDeepStrictEqual(expected[name], counts[name]))
    .map((name) => `${name} is ${JSON.stringify(counts[name])}, not ${JSON.stringify(expected[name])}`)
}
