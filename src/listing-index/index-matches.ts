import type { PriceKey, PricePer } from '../domain/price/price-key.ts'
import { facetText } from '../domain/source/facet-counter.ts'
import type { Facets, PriceCounts, PriceOrder, PricePlace } from '../domain/source/selection.ts'
import type { Scalar } from '../filter-spec/criteria.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { highestBelow } from './bitset.ts'
import type { Match } from './newest-first.ts'
import { byPrice, type FoundByPrice } from './price-walk.ts'
import type { IndexEntry, Segment } from './segment.ts'
import type { Tail } from './tail.ts'

export type MatchedRows = Match<Segment | Tail>

/** All matches of one query in an index, which are found again after a change. */
export class IndexMatches {
  readonly #find: () => readonly MatchedRows[]
  readonly #columnOf: (field: Filter) => number

  constructor(find: () => readonly MatchedRows[], columnOf: (field: Filter) => number) {
    this.#find = find
    this.#columnOf = columnOf
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

  byPrice(order: PriceOrder, after: PricePlace | null): Generator<FoundByPrice<Segment | Tail>, void> {
    return byPrice(this.#find(), order, after)
  }

  /** @throws Error for a path that the index lacks */
  facets(fields: readonly Filter[], per: PricePer): Facets {
    const matches = this.#find()
    const counted = fields.map((field) => countValues(matches, field, this.#columnOf(field)))
    return {
      values: counted.map(({ values }) => values),
      missing: counted.map(({ missing }) => missing),
      prices: countPrices(matches, per),
    }
  }

  /** In no order. */
  *rows(): Generator<IndexEntry> {
    for (const { rows, slots } of this.#find())
      for (let slot = highestBelow(slots, rows.size); slot !== -1; slot = highestBelow(slots, slot))
        yield rows.entry(slot)
  }
}

function addTo<Key>(counts: Map<Key, number>, key: Key, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count)
}

function countValues(
  matches: readonly MatchedRows[],
  field: Filter,
  column: number,
): { values: Map<string, number>; missing: number } {
  const byValue = new Map<Scalar, number>()
  let missing = 0
  for (const { rows, slots, count } of matches)
    missing += count - rows.countValues(column, slots, (value, listings) => addTo(byValue, value, listings))
  const values = new Map<string, number>()
  for (const [value, listings] of byValue) addTo(values, facetText(field, value), listings)
  return { values, missing }
}

/** Keys and how many offers have each. */
type KeyCounts = { keys: PriceKey[]; counts: number[] }

function countPrices(matches: readonly MatchedRows[], per: PricePer): Map<string, PriceCounts> {
  const found = new Map<string, { gpus: number; parts: KeyCounts[] }>()
  for (const { rows, slots } of matches)
    for (const [n, basis] of rows.prices.data.bases.entries()) {
      const { counts, gpus } = rows.prices.countKeys(slots, per, n)
      const part = withoutZeros(rows.prices.data[per].columns[n]!.keys, counts)
      if (part.keys.length === 0) continue
      const known = found.get(basis) ?? { gpus: 0, parts: [] }
      known.gpus += gpus
      known.parts.push(part)
      found.set(basis, known)
    }
  return new Map(
    Array.from(found, ([basis, { gpus, parts }]) => {
      const { keys, counts } = sumOf(parts)
      return [basis, { gpus, keys, counts, offers: counts.reduce((sum, count) => sum + count, 0) }]
    }),
  )
}

function withoutZeros(all: ArrayLike<PriceKey>, allCounts: Uint32Array): KeyCounts {
  const keys: PriceKey[] = []
  const counts: number[] = []
  for (let n = 0; n < allCounts.length; n++) {
    if (allCounts[n] === 0) continue
    keys.push(all[n]!)
    counts.push(allCounts[n]!)
  }
  return { keys, counts }
}

/** Neighbours are added first: sorted lists of similar length. */
function sumOf(parts: readonly KeyCounts[]): KeyCounts {
  if (parts.length === 1) return parts[0]!
  const middle = parts.length >> 1
  return added(sumOf(parts.slice(0, middle)), sumOf(parts.slice(middle)))
}

function added(a: KeyCounts, b: KeyCounts): KeyCounts {
  const keys: PriceKey[] = []
  const counts: number[] = []
  let atA = 0
  let atB = 0
  while (atA < a.keys.length || atB < b.keys.length) {
    const one = a.keys[atA]
    const other = b.keys[atB]
    const isOne = other === undefined || (one !== undefined && one <= other)
    const isOther = one === undefined || (other !== undefined && other <= one)
    keys.push(isOne ? one! : other!)
    counts.push((isOne ? a.counts[atA]! : 0) + (isOther ? b.counts[atB]! : 0))
    if (isOne) atA++
    if (isOther) atB++
  }
  return { keys, counts }
}
