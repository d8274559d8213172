import { plural } from '../domain/plural.ts'
import { readableAmount, unitName } from '../domain/price/price-key.ts'
import { formatAge } from '../domain/timestamp.ts'
import { describeAnswered, haveAllAnswered, oldestReading } from './describe-answered.ts'
import { describeMissing } from './describe-missing.ts'
import type { NotCounted, PriceRangeJson } from './facets.ts'
import type { SourceReport, SourcesCounted } from './source.ts'

type Described = {
  total: number
  sellers?: number | undefined
  prices: readonly PriceRangeJson[]
  not_counted: NotCounted
  sources: readonly SourceReport[]
  sourcesCounted?: SourcesCounted | undefined
  /** Sources behind gateways whose listings are copies. */
  copies?: readonly string[]
  /** Whether there are private sources that the reader does not see, where the operator says so. */
  private_sources?: true | undefined
}

/**
 * What a market costs, and what that rests on: `Cheapest 1.75 USDC/GPU·h, median 2.58, of 22 of 24 listings by 3 sellers. 2 of 2
 * answered, the oldest reading is 12 s old. Not counted: 2 prices of test networks.`
 */
export function describeSummary(described: Described): string {
  const { sources, sourcesCounted, copies = [] } = described
  const age = oldestReading(sources, sourcesCounted)
  const oldest = age === null ? '' : `, the oldest reading is ${formatAge(age)} old`
  const [lead, ...left] = describeCost(described)
  return [
    lead,
    // Of one source that answers there is nothing to say.
    ...(sources.length === 1 && !sourcesCounted && haveAllAnswered(sources) && copies.length === 0
      ? []
      : [`${describeAnswered(sources, sourcesCounted, copies)}${oldest}.`]),
    ...sources.flatMap((source) => describeMissing(source) ?? []).map((missing) => `${missing}.`),
    ...left,
  ].join(' ')
}

/** In a known token that is worth something; `undefined` without any. */
export const leadingPrice = (prices: readonly PriceRangeJson[]): PriceRangeJson | undefined =>
  prices.find(({ symbol, testnet }) => symbol !== undefined && testnet !== true)

/** The same without the sources: the leading price, and what it does not count. */
export function describeCost(described: Described): string[] {
  const { total, sellers, prices } = described
  const lead = leadingPrice(prices)
  const by = sellers === undefined || total === 0 ? '' : ` by ${plural(sellers, 'seller')}`
  const all = `${plural(total, 'listing')}${by}`
  const left = leftOut(described)
  return [
    lead === undefined ? `${all}, none with a price in a known token.` : describeLead(lead, total, all),
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

const LEFT_OUT: Readonly<Record<keyof NotCounted, readonly [noun: string, rest: string]>> = {
  outlier: ['price', 'below 1 % of the median of its model'],
  testnet: ['price', 'of test networks'],
  whole: ['price', 'of offers without GPUs'],
  unsized: ['price', 'of GPUs of unknown size'],
  other: ['price', 'in other units or tokens'],
  unreadable: ['price', 'that cannot be read'],
  none: ['listing', 'without a price'],
}

/** What the leading price does not count, in words. */
function leftOut({ not_counted, private_sources: hidden }: Described): string[] {
  const counts = (Object.keys(LEFT_OUT) as (keyof NotCounted)[]).flatMap((reason) => {
    const [noun, rest] = LEFT_OUT[reason]
    const count = not_counted[reason]
    return count ? [`${plural(count, noun)} ${rest}`] : []
  })
  return [...counts, ...(hidden === true ? ['private Registries'] : [])]
}
