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
  sellers?: number | undefined
  outliers?: number | undefined
  prices: readonly PriceRangeJson[]
  sources: readonly SourceReport[]
  /** Whether there are private sources that the reader does not see, where the operator says so. */
  private_sources?: true | undefined
}

/**
 * What a market costs, and what that rests on: `Cheapest 1.75 USDC/GPU·h, median 2.58, of 22 of 24 listings by 3 sellers. 2 of 2
 * answered, the oldest reading is 12 s old. Not counted: 2 prices of test networks.`
 */
export function describeSummary(described: Described): string {
  const { sources } = described
  const ages = sources.flatMap(({ age_seconds: age }) => age ?? [])
  const oldest = ages.length === 0 ? '' : `, the oldest reading is ${formatAge(Math.max(...ages))} old`
  const [lead, ...left] = describeCost(described)
  return [
    lead,
    // Of one source that answers there is nothing to say.
    ...(sources.length === 1 && haveAllAnswered(sources) ? [] : [`${describeAnswered(sources)}${oldest}.`]),
    ...sources.flatMap((source) => describeMissing(source) ?? []).map((missing) => `${missing}.`),
    ...left,
  ].join(' ')
}

/** The same without the sources: the leading price, and what it does not count. */
export function describeCost(described: Described): string[] {
  const { total, total_is, sellers, prices } = described
  const lead = prices.find(({ symbol, testnet }) => symbol !== undefined && testnet !== true)
  const bound = total_is === undefined ? '' : 'at most '
  const by = sellers === undefined || total === 0 ? '' : ` by ${bound}${plural(sellers, 'seller')}`
  const all = `${bound}${plural(total, 'listing')}${by}`
  const left = leftOut(described, lead)
  return [
    lead === undefined
      ? `${all}, none with a price in a known token.`.replace(/^a/, 'A')
      : describeLead(lead, total, all),
    ...(left.length === 0 ? [] : [`Not counted: ${left.join(', ')}.`]),
  ]
}

function describeLead(
  { symbol, unit, price_per: per, offers, least, least_gpus: gpus, median }: PriceRangeJson,
  total: number,
  all: string,
): string {
  const [low, middle] = [least, median].map((amount) => readableAmount(amount, true))
  const counted = offers === total ? all : `${offers} of ${all}`
  const taken = gpus === undefined || gpus < 2 || per !== 'gpu' ? '' : ` (${gpus} GPUs at once)`
  return `Cheapest ${low} ${symbol}/${unitName(unit, per)}${taken}, median ${middle}, of ${counted}.`
}

/** What the leading price does not count, in words. */
function leftOut(
  { prices, outliers = 0, private_sources: hidden }: Described,
  lead: PriceRangeJson | undefined,
): string[] {
  const kinds = { tests: 0, others: 0, whole: 0 }
  for (const row of prices)
    if (row === lead) continue
    else if (row.testnet === true) kinds.tests += row.offers
    else if (lead !== undefined && isWhole(row, lead)) kinds.whole += row.offers
    else kinds.others += row.offers
  const counts: [count: number, words: string][] = [
    [outliers, `${plural(outliers, 'price')} below 1 % of the median of its model`],
    [kinds.tests, `${plural(kinds.tests, 'price')} of test networks`],
    [kinds.whole, `${plural(kinds.whole, 'price')} of offers without GPUs`],
    [kinds.others, `${plural(kinds.others, 'price')} in other units or tokens`],
    [hidden === true ? 1 : 0, 'private Registries'],
  ]
  return counts.flatMap(([count, words]) => (count === 0 ? [] : words))
}

/** Of the same symbol and unit, and without GPUs. */
function isWhole(row: PriceRangeJson, lead: PriceRangeJson): boolean {
  return row.symbol === lead.symbol && row.unit === lead.unit && row.price_per === 'offer'
}
