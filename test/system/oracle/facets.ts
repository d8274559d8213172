import { isDeepStrictEqual } from 'node:util'
import type { Completeness } from './ask.ts'
import { type Counts, countsOf, listingsOf, type Question } from './model.ts'
import { judgeTotal } from './sequence.ts'
import { capAt, heldNow, type Window } from './window.ts'

export type FoundCounts = Completeness & {
  asked: string
  question: Question
  /** Offers that the prices leave out, as too low to be meant. */
  outliers: number
  /** `null` where no source could answer. */
  counts: Counts | null
}

/** Totals are within bounds; where nothing changed, all counts are those of the model. */
export function judgeCountsOf(window: Window, found: FoundCounts, isExact: boolean): string[] {
  const { counts, question, begin, outliers } = found
  if (counts === null) return []
  const bounds = judgeTotal(window, counts.total)
  const held = heldNow(window)
  if (bounds.length > 0 || !isExact || held === null) return bounds
  const expected = countsOf(listingsOf(held, question, capAt(begin.at)))
  const isRight = (name: keyof Counts): boolean =>
    name === 'prices' && outliers > 0
      ? isWithout(outliers, counts.prices, expected.prices)
      : isDeepStrictEqual(expected[name], counts[name])
  return (Object.keys(expected) as (keyof Counts)[])
    .filter((name) => !isRight(name))
    .map((name) => `${name} is ${JSON.stringify(counts[name])}, not ${JSON.stringify(expected[name])}`)
}

/** Whether these may be the prices without so many offers: what is an outlier for one model is above another model's price. */
function isWithout(outliers: number, prices: Counts['prices'], all: Counts['prices']): boolean {
  if (prices === null || all === null) return all?.offers === outliers
  return (
    prices.offers + outliers === all.offers &&
    Number(prices.most) <= Number(all.most) &&
    Number(prices.least) >= Number(all.least)
  )
}
