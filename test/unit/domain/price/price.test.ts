import test from 'ava'
import fc from 'fast-check'
import { gpuCount, MAX_GPUS, paymentOptions } from '../../../../src/domain/price/payment-option.ts'
import {
  comparePriceKeys,
  formatAmount,
  keyPer,
  parseAmount,
  priceKey,
  type Sizes,
  toPriceKey,
} from '../../../../src/domain/price/price-key.ts'
import { TokenTable } from '../../../../src/domain/price/token.ts'
import type { JsonValue } from '../../../../src/json/value.ts'

const USDC = '0x036cbd53842c5426634e7929541ec2318f3dcf7e'

function listing(rates: JsonValue, more: { [name: string]: JsonValue } = {}) {
  const escrow = { chain_name: 'base_sepolia', literal_fields: { token: USDC }, rates }
  return { offer_resource: { gpu_count: 8, ...more }, accepted_escrows: [escrow] }
}

const rate = (value: JsonValue, per: JsonValue = 'hour', field: JsonValue = 'amount') => ({
  field,
  per,
  value,
})

test('price: every rate of every escrow is a payment option', (t) => {
  const escrow = (chain: string, ...rates: JsonValue[]) => ({
    chain_name: chain,
    literal_fields: { token: USDC.toUpperCase().replace('0X', '0x') },
    rates,
  })
  const accepted_escrows = [escrow('base', rate('16800000'), rate('1', 'token')), escrow('ethereum', rate(5))]
  t.deepEqual(paymentOptions({ accepted_escrows }), [
    { chain: 'base', token: USDC, value: 16_800_000n, per: 'hour', unit: 'hour' },
    { chain: 'base', token: USDC, value: 1n, per: 'token', unit: 'token' },
    { chain: 'ethereum', token: USDC, value: 5n, per: 'hour', unit: 'hour' },
  ])
})

test('price: every rate of every settlement option is one too, with its mechanism and its asset', (t) => {
  const settlement_options = [
    { mechanism: 'fiat.stripe.v1', asset: 'USD', rates: [{ field: 'amount', per: 'day', value: '2400' }] },
    { mechanism: 'fiat.stripe.v1', rates: [{ field: 'amount', per: 'day', value: '1' }] },
  ]
  t.deepEqual(paymentOptions({ accepted_escrows: [], settlement_options }), [
    { chain: 'fiat.stripe.v1', token: 'usd', value: 2400n, per: 'day', unit: 'hour' },
  ])
})

test('price: what is no price is no option', (t) => {
  const beyond = [`${10n ** 78n}`, `${2n ** 256n}`]
  for (const value of ['-1', '1.5', '1e9', '', 'free', ...beyond, -1, 1.5, null, true, [], {}])
    t.deepEqual(paymentOptions(listing([rate(value)])), [], String(value))
  t.deepEqual(paymentOptions(listing([rate('1', 'hour', 'deposit')])), [])
  t.deepEqual(paymentOptions(listing([rate('1', null)])), [])
  for (const escrows of [null, 7, 'x', [null, 7, 'x', {}]])
    t.deepEqual(paymentOptions({ accepted_escrows: escrows }), [])
})

const sizes = (gpu: number): Sizes => ({ gpu, gb: null, tflop: null })

test('price: a count of GPUs that cannot be is no count', (t) => {
  for (const count of [0, -8, 1.5, '8', MAX_GPUS + 1, [], true, null])
    t.is(gpuCount(listing([], { gpu_count: count })), null, String(count))
})

const SECONDS: Readonly<Record<string, number>> = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
}

test('price: keys order prices as exact fractions do', (t) => {
  const price = fc.record({
    value: fc.oneof(
      fc.bigInt(0n, 2n ** 256n - 1n),
      fc.bigInt(0n, 1000n),
      fc.bigInt(10n ** 18n, 10n ** 18n + 9n),
    ),
    per: fc.constantFrom(...Object.keys(SECONDS)),
    gpus: fc.integer({ min: 1, max: MAX_GPUS }),
  })
  fc.assert(
    fc.property(price, price, (a, b) => {
      const key = ({ value, per, gpus }: typeof a) =>
        priceKey({ chain: 'c', token: 't', unit: 'hour', value, per }, sizes(gpus), 'gpu')!
      const fraction = ({ value, per, gpus }: typeof a) => [value, BigInt(SECONDS[per]! * gpus)] as const
      const [[n, d], [m, e]] = [fraction(a), fraction(b)]
      const exact = n * e < m * d ? -1 : n * e > m * d ? 1 : 0
      t.is(Math.sign(comparePriceKeys(key(a), key(b))), exact)
    }),
  )
})

test('price: a size of any number has a key of the integers, or none', (t) => {
  const size = fc.oneof(
    fc.constantFrom(1e-9, 1e-320, 0.0004, 0.0005, 1 / 3, 1, 989.5, 4096),
    fc.double({ min: 5e-324, max: 1e6, noNaN: true }),
  )
  const offer = fc.bigInt(0n, 10n ** 70n).map(toPriceKey)
  fc.assert(
    fc.property(offer, size, (key, gb) => {
      const divided = keyPer('gb', key, { gpu: 1, gb, tflop: null })
      if (divided === null) {
        t.true(gb < 0.001)
        return
      }
      t.regex(formatAmount(divided, 6), /^\d+(\.\d+)?$/)
      if (Number.isInteger(gb)) t.is(BigInt(divided), BigInt(key) / BigInt(gb))
    }),
  )
  t.is(keyPer('gb', 10, { gpu: 1, gb: 0.5, tflop: null }), 20)
})

test('price: an amount is rounded up to the least unit of its token', (t) => {
  const amount = (value: string, gpus: number, decimals: number | null) => {
    const [option] = paymentOptions(listing([rate(value)]))
    return formatAmount(priceKey(option!, sizes(gpus), 'gpu')!, decimals)
  }
  t.is(amount('16800000', 8, 6), '2.1')
  t.is(amount('10000000', 3, 6), '3.333334')
  t.is(amount('10000000', 3, null), '3333334')
  t.is(amount('1', 8, 6), '0.000001')
  t.is(amount('0', 8, 6), '0')
  t.is(amount('2000000', 1, 6), '2')
})

test('price: an amount is read exactly, or refused', (t) => {
  const [option] = paymentOptions(listing([rate('2100000')]))
  t.is(parseAmount('2.10', 6), priceKey(option!, sizes(1), 'gpu'))
  t.is(parseAmount('2', 6), parseAmount('2.000000', 6))
  for (const text of ['', '-1', '2,1', '.5', '1e3', '2.1000001', ' 2', '２'])
    t.is(parseAmount(text, 6), null, text)
})

test('tokens: a symbol names all chains, a chain narrows it, and an unknown one names none', (t) => {
  const token = (chain: string) => ({ chain, address: USDC, symbol: 'USDC', decimals: 6 })
  const tokens = new TokenTable([token('base'), token('ethereum')])
  t.is(tokens.named('usdc').length, 2)
  t.deepEqual(tokens.named('base:USDC'), [token('base')])
  t.deepEqual(tokens.named(`ethereum:${USDC.toUpperCase()}`), [token('ethereum')])
  for (const text of ['USDX', 'solana:USDC', USDC, 'base:', ':USDC', ''])
    t.deepEqual(tokens.named(text), [], text)
})
