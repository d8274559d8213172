import type { Filter } from '../../filter-spec/filter.ts'
import { resolvePath } from '../../filter-spec/path.ts'
import { facetText, toScalar } from '../../filter-spec/scalar.ts'
import type { JsonValue } from '../../json/value.ts'
import { gpuCount } from '../price/payment-option.ts'
import {
  comparePriceKeys,
  type LowestPrice,
  lowestPrices,
  type PriceKey,
  scaleKey,
} from '../price/price-key.ts'
import type { Facets, PriceCounts, PriceGrouping } from './selection.ts'

/** Counts listings one by one, as the facets of an index count them. */
export class FacetCounter {
  readonly #fields: readonly Filter[]
  readonly #grouping: PriceGrouping
  readonly #values: readonly Map<string, number>[]
  readonly #missing: number[]
  #gpus = 0
  readonly #prices = new Map<string, { gpus: number; counts: Map<PriceKey, number> }>()

  constructor(fields: readonly Filter[], prices: PriceGrouping) {
    this.#fields = fields
    this.#grouping = prices
    this.#values = fields.map(() => new Map())
    this.#missing = fields.map(() => 0)
  }

  add(listing: JsonValue): void {
    this.#gpus += gpuCount(listing) ?? 0
    for (const [n, field] of this.#fields.entries()) {
      const values = resolvePath(field.compiled, listing)
      if (values.length === 0) this.#missing[n]!++
      const scalars = values.map(toScalar).filter((value) => value !== null)
      const texts = scalars.map((value) => facetText(field, value))
      for (const text of new Set(texts)) addTo(this.#values[n]!, text)
    }
    for (const [group, { key, gpus }] of this.#lowestIn(listing)) {
      const counted = this.#prices.get(group) ?? { gpus: 0, counts: new Map<PriceKey, number>() }
      counted.gpus += gpus ?? 0
      addTo(counted.counts, key)
      this.#prices.set(group, counted)
    }
  }

  #lowestIn(listing: JsonValue): ReadonlyMap<string, LowestPrice> {
    const { per, groupOf, scaleOf, sizesOf } = this.#grouping
    const lowest = new Map<string, LowestPrice>()
    for (const [basis, found] of lowestPrices(listing, per, sizesOf(listing, ''))) {
      const group = groupOf(basis)
      const price = { ...found, key: scaleKey(found.key, scaleOf?.(basis)) }
      const known = lowest.get(group)
      if (known === undefined || comparePriceKeys(price.key, known.key) < 0) lowest.set(group, price)
    }
    return lowest
  }

  get facets(): Facets {
    const prices = Array.from(
      this.#prices,
      ([group, { gpus, counts }]) => [group, inOrder(gpus, counts)] as const,
    )
    return { values: this.#values, missing: this.#missing, gpus: this.#gpus, prices: new Map(prices) }
  }
}

function inOrder(gpus: number, counts: ReadonlyMap<PriceKey, number>): PriceCounts {
  const sorted = [...counts].sort(([a], [b]) => comparePriceKeys(a, b))
  return {
    offers: sorted.reduce((sum, [, count]) => sum + count, 0),
    gpus,
    keys: sorted.map(([key]) => key),
    counts: sorted.map(([, count]) => count),
  }
}

/** Of the entries of such counts: the most first. */
export function byCount([a, count]: [string, number], [b, other]: [string, number]): number {
  return other - count || (a < b ? -1 : a > b ? 1 : 0)
}

export function addTo<Key>(counts: Map<Key, number>, key: Key, count = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + count)
}
