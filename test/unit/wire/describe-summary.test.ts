import test from 'ava'
import { describeSummary } from '../../../src/wire/describe-summary.ts'
import type { PriceRangeJson } from '../../../src/wire/facets.ts'

const range = (offers: number, more: Partial<PriceRangeJson> = {}): PriceRangeJson => ({
  chains: [{ chain: 'base', offers }],
  unit: 'hour',
  price_per: 'gpu',
  offers,
  gpus: offers,
  least: '1.75',
  median: '2.585',
  most: '3',
  ...more,
})
const SOURCES = [
  { registry: 'a', state: 'loaded', age_seconds: 12, matched: 4 },
  { registry: 'b', state: 'stale', age_seconds: 360, matched: 1 },
] as const

test('summary: the leading price, what it is of, who answered, and what is not counted', (t) => {
  const money = range(22, { symbol: 'USDC', least_gpus: 8 })
  t.is(
    describeSummary({
      total: 36,
      sellers: 3,
      not_counted: { none: 1, testnet: 2, outlier: 2, whole: 1, other: 3, unsized: 4, unreadable: 1 },
      prices: [money],
      sources: SOURCES,
      private_sources: true,
    }),
    'Cheapest 1.75 USDC/GPU·h (8 GPUs at once), median 2.585, of 22 of 36 listings by 3 sellers. 1 of 2 answered · b: copy from ' +
      '6 min ago, the oldest reading is 6 min old. Not counted: 2 prices below 1 % of the median of its model, 2 prices of test ' +
      'networks, 1 price of offers without GPUs, 4 prices of GPUs of unknown size, 3 prices in other units or tokens, 1 price that ' +
      'cannot be read, 1 listing without a price, private Registries.',
  )
  const [first] = SOURCES
  const one = {
    total: 1,
    sellers: 1,
    not_counted: {},
    prices: [range(1, { symbol: 'USDC' })],
    sources: [first],
  }
  t.is(describeSummary(one), 'Cheapest 1.75 USDC/GPU·h, median 2.585, of 1 listing by 1 seller.')
  const other = { total: 3, sellers: 2, not_counted: { other: 3 }, prices: [range(1)], sources: [] }
  t.is(
    describeSummary({ ...other, total_is: 'at_most' }),
    'At most 3 listings by at most 2 sellers, none with a price in a known token. 0 of 0 answered. Not counted: 3 prices in other units or tokens.',
  )
})
