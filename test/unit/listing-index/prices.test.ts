import test from 'ava'
import type { PriceOrder } from '../../../src/domain/price/price-order.ts'
import type { Row } from '../../../src/listing-index/copy.ts'
import { byBasis } from '../../helpers/grouping.ts'
import { OneSource } from '../../helpers/one-source.ts'
import { run } from '../../helpers/steps.ts'
import { FILTERS } from './model.ts'

const OPEN = { status: 'open', criteria: [] } as const

test('prices: of a boolean, a value and its words are counted once, and 1 in words is another value', (t) => {
  const list = { ...FILTERS[4]!, value_type: 'boolean' as const }
  const index = new OneSource(FILTERS)
  const bytes = Buffer.from('{"list":[true,"true",1,"1",false,"0"]}')
  index.put({ key: 'l', seller: 1, status: 'open', position: 1, bytes })
  const { values } = run(index.matches(OPEN).facets([list], byBasis('gpu')))
  t.deepEqual(Object.fromEntries(values[0]!), { true: 1, 1: 1, false: 1, 0: 1 })
})

test('prices: rows with very many names of tokens displace no other token', (t) => {
  const index = new OneSource(FILTERS)
  const names = (n: number): string[] => Array.from({ length: 32 }, (_, m) => `0x${n}-${m}`)
  const hostile = Array.from({ length: 300 }, (_, n) => accepting(n + 1, names(n)))
  const honest = [0, 301].map((n) => accepting(n, ['0xa']))
  for (const _step of index.load([...honest, ...hostile]));
  const tokens = [{ chain: 'base', address: '0xa', symbol: 'A', decimals: 0 }]
  const priceLimit = { tokens, per: 'gpu', max: Number.POSITIVE_INFINITY } as const
  t.is(index.matches({ ...OPEN, priceLimit }).total, 2)
  const order: PriceOrder = { groups: [['base\n0xa\nhour']], per: 'gpu' }
  const matches = index.matches(OPEN)
  const [first] = matches.copiesByPrice(order, null)
  t.is(first?.copy.listingId, 'l301')
  t.deepEqual([...matches.offers(tokens)], [['base\n0xa\nhour', { offers: 2, publishers: 1 }]])
  t.is(matches.offers(null).size, 1024)
  const { prices } = run(matches.facets([], byBasis('gpu')))
  t.is(prices.get('base\n0xa\nhour')?.offers, 2)
})

test('prices: columns of very many prices are built in steps', (t) => {
  const index = new OneSource([])
  const tokens = Array.from({ length: 32 }, (_, m) => `0x${m}`)
  const entries = Array.from({ length: 2000 }, (_, n) => accepting(n, tokens))
  t.true(Array.from(index.load(entries)).length > 20)
})

test('prices: different prices are counted in steps, which questions asked at once share', (t) => {
  const entries = Array.from({ length: 20_000 }, (_, n) => accepting(n, ['0xa'], String(7919 * n)))
  const question = (index: OneSource) => index.matches(OPEN).facets([], byBasis('gpu'))
  const loaded = () => {
    const index = new OneSource([])
    for (const _step of index.load(entries));
    return index
  }
  const alone = Array.from(question(loaded())).length
  t.true(alone > 10)
  const index = loaded()
  const questions = Array.from({ length: 4 }, () => question(index))
  let steps = 0
  while (questions.filter((one) => one.next().done !== true).length > 0) steps++
  t.true(steps < alone / 2)
})

/** A listing with a price in each of these tokens. */
function accepting(n: number, tokens: readonly string[], value = '5'): Row {
  const escrows = tokens.map((token) => ({
    chain_name: 'base',
    literal_fields: { token },
    rates: [{ value, per: 'hour' }],
  }))
  const bytes = Buffer.from(JSON.stringify({ offer_resource: { gpu_count: 1 }, accepted_escrows: escrows }))
  return { key: `l${n}`, seller: 1, status: 'open', position: n, bytes }
}
