import type { PricePer } from '../domain/price/price-key.ts'
import { addTo, facetText } from '../domain/source/facet-counter.ts'
import type { Facets, PriceCounts, PriceOrder, PricePlace } from '../domain/source/selection.ts'
import type { Scalar } from '../filter-spec/criteria.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { highestBelow } from './bitset.ts'
import { addPriceCounts, KeyUnion } from './key-union.ts'
import type { Match } from './newest-first.ts'
import { byPrice, type FoundByPrice } from './price-walk.ts'
import type { IndexEntry } from './segment.ts'

type MatchesOptions = {
  /** As of now; none without a match. */
  find: () => readonly Match[]
  columnOf: (field: Filter) => number
  /** Together of all segments; those with the most keys last. */
  unionsOf: (per: PricePer) => readonly KeyUnion[]
}

/** All matches of one query in an index, which are found again after a change. */
export class IndexMatches {
  readonly #find: MatchesOptions['find']
  readonly #columnOf: MatchesOptions['columnOf']
  readonly #unionsOf: MatchesOptions['unionsOf']

  constructor({ find, columnOf, unionsOf }: MatchesOptions) {
    this.#find = find
    this.#columnOf = columnOf
    this.#unionsOf = unionsOf
  }

  get total(): number {
    return this.#find().reduce((sum, { count }) => sum + count, 0)
  }

  offers(): Map<string, number> {
    const offers = new Map<string, number>()
    for (const { rows, slots, count } of this.#find()) {
      const { prices } = rows
      for (const [n, number] of prices.countOffers(slots, count).entries())
        if (number > 0) addTo(offers, prices.data.bases[n]!, number)
    }
    return offers
  }

  byPrice(order: PriceOrder, after: PricePlace | null): Generator<FoundByPrice, void> {
    return byPrice(this.#find(), order, after)
  }

  /** Values of these fields, matching or not; those of several segments count in each. */
  countDistinct(fields: readonly Filter[]): number {
    let count = 0
    for (const { rows } of this.#find())
      for (const field of fields) count += rows.columns[this.#columnOf(field)]!.size
    return count
  }

  /** @throws Error for a path that the index lacks */
  facets(fields: readonly Filter[], per: PricePer): Facets {
    const matches = this.#find()
    const counted = fields.map((field) => countValues(matches, field, this.#columnOf(field)))
    return {
      values: counted.map(({ values }) => values),
      missing: counted.map(({ missing }) => missing),
      prices: countPrices(matches, this.#unionsOf(per), per),
    }
  }

  /** In no order. */
  *rows(): Generator<IndexEntry> {
    for (const { rows, slots } of this.#find())
      for (let slot = highestBelow(slots, rows.size); slot !== -1; slot = highestBelow(slots, slot))
        yield rows.entry(slot)
  }
}

function countValues(
  matches: readonly Match[],
  field: Filter,
  column: number,
): { values: Map<string, number>; missing: number } {
  const values = new Map<string, number>()
  const add = (value: Scalar, listings: number): void => addTo(values, facetText(field, value), listings)
  let missing = 0
  for (const { rows, slots, count } of matches)
    missing += count - rows.columns[column]!.countValues(slots, add)
  return { values, missing }
}

/** The prices of the tail change with each listing, so they are in no union. */
function countPrices(
  matches: readonly Match[],
  unions: readonly KeyUnion[],
  per: PricePer,
): Map<string, PriceCounts> {
  const byRows = new Map(matches.map((match) => [match.rows.prices, match]))
  const sealed = new Set(unions.flatMap(({ segments }) => segments))
  const tail = new KeyUnion(
    [...byRows.keys()].filter((prices) => !sealed.has(prices)),
    per,
  )
  const counts = new Map<string, PriceCounts>()
  for (const union of [tail, ...unions])
    for (const [basis, more] of union.count(byRows)) {
      const known = counts.get(basis)
      counts.set(basis, known === undefined ? more : addPriceCounts(known, more))
    }
  return counts
}
