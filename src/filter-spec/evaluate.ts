import { lowestPrices } from '../domain/price/price-key.ts'
import type { PriceLimit } from '../domain/query.ts'
import type { Exclusion } from '../domain/source/reading.ts'
import type { JsonValue } from '../json/value.ts'
import { type Bound, type Criterion, type FilterTest, type Scalar, toScalar } from './criteria.ts'
import { resolvePath } from './path.ts'

export function matchesAll(criteria: readonly Criterion[], document: JsonValue): boolean {
  return criteria.every((criterion) => mismatchOf(criterion, document) === null)
}

/** `null` where the document matches. If the field is missing, only `onMissing` decides. */
function mismatchOf(criterion: Criterion, document: JsonValue): 'value' | 'missing' | null {
  const values = resolvePath(criterion.filter.compiled, document)
  if (values.length === 0) return criterion.onMissing === 'pass' ? null : 'missing'
  return passesTest(criterion.test, values) ? null : 'value'
}

/** docs/protocol.md#63-matching. `values`: one or more, no nulls. Another type never matches. */
export function passesTest(test: FilterTest, values: readonly JsonValue[]): boolean {
  switch (test.op) {
    case 'in':
      return values.some((value) => isIn(test.values, value))
    case 'not_in':
      return !values.some((value) => isIn(test.values, value))
    case 'range':
      return values.some((value) => isWithin(test.low, test.high, toScalar(value)))
    case 'exists':
      return test.wanted
  }
}

/** JavaScript compares a bigint with a double exactly. */
const isWithin = (low: Bound | null, high: Bound | null, value: Scalar | null): boolean =>
  value !== null &&
  typeof value !== 'string' &&
  (low === null || (low.inclusive ? low.value <= value : low.value < value)) &&
  (high === null || (high.inclusive ? value <= high.value : value < high.value))

function isIn(wanted: ReadonlySet<Scalar>, value: JsonValue): boolean {
  const scalar = toScalar(value)
  return scalar !== null && wanted.has(scalar)
}

type Mismatch = (document: JsonValue) => 'value' | 'missing' | null

export class Exclusions {
  readonly #counts: readonly { mismatch: Mismatch; exclusion: Exclusion }[]

  constructor(criteria: readonly Criterion[], priceLimit?: PriceLimit) {
    const conditions: [name: string, mismatch: Mismatch][] = criteria.map((criterion) => [
      criterion.filter.name,
      (document) => mismatchOf(criterion, document),
    ])
    if (priceLimit !== undefined)
      conditions.push(['price_max', (document) => priceMismatch(priceLimit, document)])
    this.#counts = conditions.map(([filter, mismatch]) => ({
      mismatch,
      exclusion: { filter, byValue: 0, missing: 0 },
    }))
  }

  /** A document that fails several conditions counts in each. */
  add(document: JsonValue): void {
    for (const { mismatch, exclusion } of this.#counts) {
      const failure = mismatch(document)
      if (failure === 'value') exclusion.byValue++
      if (failure === 'missing') exclusion.missing++
    }
  }

  get counts(): readonly Exclusion[] {
    return this.#counts.map(({ exclusion }) => exclusion)
  }
}

/** `missing`: no price in these tokens. */
function priceMismatch({ tokens, per, max }: PriceLimit, document: JsonValue): 'value' | 'missing' | null {
  const prices = [...lowestPrices(document, per).values()].filter(({ option }) =>
    tokens.some(({ chain, address }) => option.chain === chain && option.token === address),
  )
  if (prices.length === 0) return 'missing'
  return prices.some(({ key }) => key <= max) ? null : 'value'
}
