import test from 'ava'
import { parseAmount } from '../../../../src/domain/price/price-key.ts'
import { type PriceTexts, parsePriceQuestion } from '../../../../src/domain/price/price-parameters.ts'
import { TokenTable } from '../../../../src/domain/price/token.ts'

const USDC = { chain: 'base', address: `0x${'a'.repeat(40)}`, symbol: 'USDC', decimals: 6 }
const TOKENS = new TokenTable([USDC])

test('price parameters: an order, a token and a ceiling are read; an empty one is absent', (t) => {
  t.deepEqual(parsePriceQuestion(TOKENS, { sort: '', price_max: '' }), {
    sort: 'newest',
    tokens: null,
    per: 'gpu',
    limit: undefined,
  })
  const all = { sort: 'price', price_token: 'usdc', price_max: '2.10', price_per: 'offer' } as const
  t.deepEqual(parsePriceQuestion(TOKENS, all), {
    sort: 'price',
    tokens: [USDC],
    per: 'offer',
    limit: { tokens: [USDC], per: 'offer', max: parseAmount('2.1', 6)! },
  })
  t.is(parsePriceQuestion(TOKENS, { price_per: 'offer' }, { countsPrices: true }).per, 'offer')
})

test('price parameters: what cannot be answered is refused with what there is', (t) => {
  const cases: [texts: PriceTexts, message: RegExp][] = [
    [{ sort: 'cheapest' }, /^sort: expected newest or price, got "cheapest"$/],
    [{ sort: 'price', price_per: 'box' }, /^price_per: expected gpu, offer, gb or tflop, got "box"$/],
    [{ sort: 'price', price_token: 'USDX' }, /^price_token: there is no token "USDX": known are base:USDC$/],
    [{ price_token: 'USDC' }, /^price_token: has no effect without sort=price or price_max$/],
    [{ price_per: 'gpu' }, /^price_per: has no effect without sort=price or price_max$/],
    ...['2,1', '-1', '1e3', '2.1000001', 'free', ' 2'].map((price_max): [PriceTexts, RegExp] => [
      { price_token: 'USDC', price_max },
      /^price_max: expected an amount such as 2\.10 with at most 6 decimals, got "/,
    ]),
  ]
  for (const [texts, message] of cases)
    t.throws(() => parsePriceQuestion(TOKENS, texts), { code: 'bad_request', message }, JSON.stringify(texts))
  t.throws(() => parsePriceQuestion(new TokenTable([]), { price_max: '2' }), {
    message: 'price_max: needs price_token, the token of the amount: no token is known here',
  })
})
