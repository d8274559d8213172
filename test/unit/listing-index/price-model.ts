import fc from 'fast-check'
import { basisOf, gpuCount, parseBasis, paymentOptions } from '../../../src/domain/price/payment-option.ts'
import {
  comparePriceKeys,
  countedSizes,
  type PriceKey,
  type PricePer,
  priceKey,
  type ScaleOf,
  scaleKey,
} from '../../../src/domain/price/price-key.ts'
import type { PriceOrder } from '../../../src/domain/price/price-order.ts'
import type { PriceLimit } from '../../../src/domain/query.ts'
import type { Filter } from '../../../src/filter-spec/filter.ts'
import { resolvePath } from '../../../src/filter-spec/path.ts'
import { toScalar } from '../../../src/filter-spec/scalar.ts'
import { isJsonObject, type JsonValue, parseJson } from '../../../src/json/value.ts'
import type { Row } from '../../../src/listing-index/copy.ts'
import type { Facets } from '../../../src/listing-index/copy-matches.ts'
import type { PriceAfter } from '../../../src/listing-index/price-walk.ts'

/** In text, since a parsed document has no duplicate members, escapes or long numbers. */
const oneOf = (...texts: string[]) => fc.constantFrom(...texts)

const NOTHING = ['null', '[]', '{}', '"x"', 'true', '7']
const usually = (usual: fc.Arbitrary<string>, ...odd: string[]) =>
  fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: oneOf(...odd, ...NOTHING) })

/** Members in any order; one of them may be missing, or be there twice. */
const objectOf = (members: Record<string, fc.Arbitrary<string>>): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.shuffledSubarray(Object.keys(members), { minLength: Object.keys(members).length - 1 }),
      fc.record(members),
      fc.option(fc.tuple(fc.constantFrom(...Object.keys(members)), fc.record(members)), { freq: 12 }),
    )
    .map(([names, values, again]) => {
      const texts = names.map((name) => `"${name}":${values[name]!}`)
      if (again !== null) texts.push(`"${again[0]}": ${again[1][again[0]]!}`)
      return `{${texts}}`
    })

const rateText = objectOf({
  field: usually(oneOf('"amount"', 'null'), '"deposit"', '"am\\u006funt"'),
  per: usually(oneOf('"hour"', '"day"', '"token"'), '"week"', '"\\n"', '"toString"', '"ho\\u0075r"'),
  value: usually(
    oneOf(
      '"100"',
      '"2400"',
      '"007"',
      '100',
      '"16800000"',
      '"51130563"',
      '"51130564"',
      '"1000000000000000000"',
    ),
    ...['9007199254740993', '1e30', '-1', '1.5', '1e400', '"1e9"', '""', '-0', '"-0"', '1.0'],
    ...[
      `"${2n ** 256n - 1n}"`,
      `"${2n ** 256n}"`,
      `${10n ** 77n}`,
      `"${'0'.repeat(78)}"`,
      `"${'0'.repeat(79)}"`,
    ],
  ),
})

const listOf = (element: fc.Arbitrary<string>, maxLength: number) =>
  usually(
    fc.array(usually(element, '[{}]'), { maxLength }).map((parts) => `[${parts}]`),
    '[]',
  ).chain((text) => fc.oneof({ weight: 9, arbitrary: fc.constant(text) }, { weight: 1, arbitrary: element }))

const escrowText = objectOf({
  chain_name: usually(oneOf('"base"', '"ethereum"'), '"b\\u0061se"', '"b\\nse"', `"${'c'.repeat(129)}"`),
  literal_fields: usually(
    oneOf('{"token":"0xaa"}', '{"token":"0xAA"}', '{"token":"0xbb","x":1}'),
    '{"token":null}',
    '{"token":"0xaa","token":"0xbb"}',
  ),
  rates: listOf(rateText, 3),
})

const escrowsText = listOf(escrowText, 3)
const gpuText = usually(oneOf('1', '2', '3', '8', '1024'), '0', '-8', '1.5', '1025', '1e30', '8.0', '"8"')

/** Of a listing: prices as sellers publish them, and worse ones, and some fields of `FILTERS`. */
export const pricedText: fc.Arbitrary<string> = fc
  .record(
    {
      accepted_escrows: escrowsText,
      offer_resource: usually(gpuText.map((text) => `{"gpu_count":${text}}`)),
      a: oneOf('"x"', '"y"', '1', 'true', '{}', 'null'),
      n: fc.nat(40).map(String),
      list: oneOf('["x","y","x"]', '["y",1,"1"]', '[]', '"x"', '[null,{"k":"x"}]'),
    },
    { requiredKeys: ['accepted_escrows', 'offer_resource'] },
  )
  .map((members) => `{${Object.entries(members).map(([name, text]) => `"${name}":${text}`)}}`)

const KEY = 100 * 168 * 2 ** 20
const maxKey = fc.constantFrom<PriceKey>(0, KEY / 8, KEY, 10n ** 26n, 2n ** 300n)

/** As where a token has more base units on `base` than on `ethereum`. */
const scaleOf: ScaleOf = (basis) => (basis.startsWith('ethereum\n') ? 10n ** 12n : 1n)
const scaling = fc.option(fc.constant(scaleOf), { nil: undefined })

export const priceLimit: fc.Arbitrary<PriceLimit> = fc.record({
  tokens: fc.subarray(
    ['base:0xaa', 'base:0xbb', 'ethereum:0xaa'].map((text) => {
      const [chain, address] = text.split(':') as [string, string]
      return { chain, address, symbol: text, decimals: 6 }
    }),
    { minLength: 1 },
  ),
  per: fc.constantFrom('gpu', 'offer'),
  max: maxKey,
  scaleOf: scaling,
})

const basis = fc
  .tuple(
    fc.constantFrom('base', 'ethereum'),
    fc.constantFrom('0xaa', '0xbb'),
    fc.constantFrom('hour', 'token', 'hour\noffer'),
  )
  .map((parts) => parts.join('\n'))

export const priceOrder: fc.Arbitrary<PriceOrder> = fc.record({
  groups: fc.array(fc.uniqueArray(basis, { minLength: 1, maxLength: 3 }), { maxLength: 3 }),
  per: fc.constantFrom('gpu', 'offer'),
  scaleOf: scaling,
  max: fc.option(maxKey, { nil: undefined }),
})

const parsed = ({ bytes }: Row): JsonValue => parseJson(Buffer.from(bytes).toString())

/** By the plainest means: the lowest key of each basis. */
export function keysOf(entry: Row, per: PricePer, scale?: ScaleOf): Map<string, PriceKey> {
  const document = parsed(entry)
  const lowest = new Map<string, PriceKey>()
  if (!isJsonObject(document)) return lowest
  for (const option of paymentOptions(document)) {
    const sizes = countedSizes(document, '')
    const key = priceKey(option, sizes, per)
    const basis = basisOf({ ...option, hasGpus: sizes.gpu !== null })
    const known = lowest.get(basis)
    if (key !== null && (known === undefined || key < known)) lowest.set(basis, key)
  }
  return new Map(Array.from(lowest, ([basis, key]) => [basis, scaleKey(key, scale?.(basis))]))
}

export function isBelow(entry: Row, { tokens, per, max, scaleOf }: PriceLimit): boolean {
  return Array.from(keysOf(entry, per, scaleOf)).some(
    ([basis, key]) =>
      key <= max &&
      (per === 'offer' || parseBasis(basis).hasGpus) &&
      tokens.some(({ chain, address }) => basis.startsWith(`${chain}\n${address}\n`)),
  )
}

/** Newest-first entries in the order of an answer by price. */
export function inOrder(entries: readonly Row[], { groups, per, scaleOf, max }: PriceOrder): PriceAfter[] {
  const places = entries.map((entry): PriceAfter => {
    const keys = keysOf(entry, per, scaleOf)
    const priced = groups.map((bases) =>
      bases
        .flatMap((basis) => keys.get(basis) ?? [])
        .filter((key) => max === undefined || key <= max)
        .toSorted(comparePriceKeys),
    )
    const found = priced.findIndex(({ length }) => length > 0)
    const group = found === -1 ? groups.length : found
    return { group, price: priced[found]?.[0] ?? 0, position: entry.position, key: entry.key }
  })
  return places.sort((a, b) => a.group - b.group || comparePriceKeys(a.price, b.price))
}

/** In a form that `deepEqual` compares. */
export function facetsOf(entries: readonly Row[], fields: readonly Filter[], per: PricePer): unknown {
  const values = fields.map(({ compiled }) => {
    const found = entries.map((entry) => resolvePath(compiled, parsed(entry)))
    const texts = found.flatMap((one) => {
      const scalars = one.map(toScalar).filter((value) => value !== null)
      return [...new Set(scalars.map(String))]
    })
    return {
      counts: countsOf(texts),
      missing: found.filter(({ length }) => length === 0).length,
    }
  })
  const all = entries.flatMap((entry) => {
    const document = parsed(entry)
    const gpus = gpuCount(document) ?? 0
    return Array.from(keysOf(entry, per), ([basis, key]) => ({ basis, key, gpus }))
  })
  const prices = Array.from(
    Map.groupBy(all, ({ basis }) => basis),
    ([basis, found]) => ({
      basis,
      offers: found.length,
      gpus: found.reduce((sum, { gpus }) => sum + gpus, 0),
      keys: found
        .map(({ key }) => key)
        .toSorted(comparePriceKeys)
        .map(String),
    }),
  )
  const gpus = entries.reduce((sum, entry) => sum + (gpuCount(parsed(entry)) ?? 0), 0)
  return { values, gpus, prices: prices.sort((a, b) => (a.basis < b.basis ? -1 : 1)) }
}

/** As `facetsOf`. */
export function readableFacets({ values, missing, gpus: allGpus, prices }: Facets): unknown {
  return {
    gpus: allGpus,
    values: values.map((counts, n) => ({ counts: Object.fromEntries(counts), missing: missing[n]! })),
    prices: Array.from(prices, ([basis, { offers, gpus, keys, counts }]) => ({
      basis,
      offers,
      gpus,
      keys: keys.flatMap((key, n) => new Array(counts[n]!).fill(String(key))),
    })).sort((a, b) => (a.basis < b.basis ? -1 : 1)),
  }
}

export function countsOf(texts: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    Array.from(
      Map.groupBy(texts, (text) => text),
      ([text, all]) => [text, all.length],
    ),
  )
}
