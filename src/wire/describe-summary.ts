import { plural } from '../domain/plural.ts'
import { readableAmount, unitName } from '../domain/price/price-key.ts'
import { formatAge } from '../domain/timestamp.ts'
import { describeAnswered, haveAllAnswered } from './describe-answered.ts'
import { describeMissing } from './describe-missing.ts'
import type { PriceRangeJson } from './facets.ts'
import type { SourceReport } from './source.ts'

type Described = {
  total: number
  /** `at_most`: a source was not read to its end. */
  total_is?: 'at_most' | undefined
  prices: readonly PriceRangeJson[]
  sources: readonly SourceReport[]
}

/**
 * What a market costs, and what that rests on: `Cheapest 1.75 USDC/GPU·h, median 2.58, of 22 of 24 listings. 2 of 2 answered, the
 * oldest reading is 12 s old.`
 */
export function describeSummary({ total, total_is, prices, sources }: Described): string {
  const lead = prices.find(({ symbol, testnet }) => symbol !== undefined && testnet !== true)
  const ages = sources.flatMap(({ age_seconds: age }) => age ?? [])
  const oldest = ages.length === 0 ? '' : `, the oldest reading is ${formatAge(Math.max(...ages))} old`
  const others = prices.filter((one) => one !== lead).reduce((sum, { offers }) => sum + offers, 0)
  const all = `${total_is === undefined ? '' : 'at most '}${plural(total, 'listing')}`
  return [
    lead === undefined
      ? `${all}, none with a price in a known token.`.replace(/^a/, 'A')
      : describeLead(lead, total, all),
    // Of one source that answers there is nothing to say.
    ...(sources.length === 1 && haveAllAnswered(sources) ? [] : [`${describeAnswered(sources)}${oldest}.`]),
    ...sources.flatMap((source) => describeMissing(source) ?? []).map((missing) => `${missing}.`),
    ...(others === 0
      ? []
      : [
          `${plural(others, 'price')} in other units or tokens, of test networks, or of offers without GPUs not counted.`,
        ]),
  ].join(' ')
}

function describeLead(
  { symbol, unit, price_per: per, offers, least, median }: PriceRangeJson,
  total: number,
  all: string,
): string {
  const [low, middle] = [least, median].map((amount) => readableAmount(amount, true))
  const counted = offers === total ? all : `${offers} of ${all}`
  return `Cheapest ${low} ${symbol}/${unitName(unit, per)}, median ${middle}, of ${counted}.`
}
