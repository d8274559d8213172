import { countedSizes, lowestPrices, scaleKey } from '../domain/price/price-key.ts'
import type { PriceLimit } from '../domain/query.ts'
import type { Exclusion } from '../domain/source/reading.ts'
import type { JsonValue } from '../json/value.ts'
import type { Criterion } from './filter.ts'
import { testOf } from './operations/operations.ts'
import { resolvePath } from './path.ts'

export function matchesAll(criteria: readonly Criterion[], document: JsonValue): boolean {
  return criteria.every((criterion) => mismatchOf(criterion, document) === null)
}

/** `null` where the document matches. If the field is missing, only `onMissing` decides. */
function mismatchOf(
  { filter, test, onMissing, unplaced }: Criterion,
  document: JsonValue,
): 'value' | 'missing' | null {
  const values = resolvePath(filter.compiled, document)
  if (values.length === 0) return onMissing === 'pass' ? null : 'missing'
  if (testOf(test).passes(test, values)) return null
  return unplaced !== undefined && testOf(unplaced).passes(unplaced, values) ? 'missing' : 'value'
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

  /** Counts a document in each condition that it fails. @returns whether it matches all */
  add(document: JsonValue): boolean {
    let isMatch = true
    for (const { mismatch, exclusion } of this.#counts) {
      const failure = mismatch(document)
      if (failure === 'value') exclusion.byValue++
      if (failure === 'missing') exclusion.missing++
      if (failure !== null) isMatch = false
    }
    return isMatch
  }

  get counts(): readonly Exclusion[] {
    return this.#counts.map(({ exclusion }) => exclusion)
  }
}

/** `missing`: no price in these tokens. */
function priceMismatch(
  { tokens, per, max, scaleOf, sizesOf = countedSizes }: PriceLimit,
  document: JsonValue,
): 'value' | 'missing' | null {
  const prices = [...lowestPrices(document, per, sizesOf(document, ''))].filter(
    ([, { option, per: pricePer }]) =>
      pricePer === per &&
      tokens.some(({ chain, address }) => option.chain === chain && option.token === address),
  )
  if (prices.length === 0) return 'missing'
  return prices.some(([basis, { key }]) => scaleKey(key, scaleOf?.(basis)) <= max) ? null : 'value'
}
