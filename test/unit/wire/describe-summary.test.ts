import test from 'ava'
import { describeSummary } from '../../../src/wire/describe-summary.ts'
import type { PriceRangeJson } from '../../../src/wire/facets.ts'

const range = (offers: number, more: Partial<PriceRangeJson> = {}): PriceRangeJson => ({
  chains: ['base'],
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
  const money = range(22, { symbol: 'USDC' })
  t.is(
    describeSummary({
      total: 24,
      prices: [money, range(2, { symbol: 'USDC', testnet: true })],
      sources: SOURCES,
    }),
    'Cheapest 1.75 USDC/GPU·h, median 2.585, of 22 of 24 listings. 1 of 2 answered · b: copy from 6 min ago, the oldest reading is ' +
      '6 min old. 2 prices in other units or tokens, of test networks, or of offers without GPUs not counted.',
  )
  t.is(
    describeSummary({ total: 1, prices: [range(1, { symbol: 'USDC' })], sources: SOURCES.slice(0, 1) }),
    'Cheapest 1.75 USDC/GPU·h, median 2.585, of 1 listing.',
  )
  t.is(
    describeSummary({ total: 3, prices: [range(1)], sources: [] }),
    '3 listings, none with a price in a known token. 0 of 0 answered. 1 price in other units or tokens, of test networks, or of offers without GPUs not counted.',
  )
})
