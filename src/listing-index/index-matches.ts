import { addTo } from '../domain/counts.ts'
import type { PriceLimit } from '../domain/query.ts'
import { type BasisCounter, type OfferCount, OfferCounter } from '../domain/source/offer-counts.ts'
import type { PriceCounts, PriceGrouping, PriceOrder } from '../domain/source/selection.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { Micros } from '../domain/timestamp.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { facetText, type Scalar } from '../filter-spec/scalar.ts'
import { forEachBit, hasBit } from './bitset.ts'
import type { Column } from './column.ts'
import { addPriceCounts, greatest, type KeyUnion } from './key-union.ts'
import type { Match } from './newest-first.ts'
import { byPrice, type FoundByPrice, type PriceAfter } from './price-walk.ts'
import type { Segment } from './segment.ts'

export type MatchesOptions = {
  /** As of now; none without a match. */
  find: () => readonly Match[]
  /** Of all segments as of now, in steps. */
  unionsOf: (prices: PriceGrouping) => Generator<void, readonly KeyUnion[]>
  /** Equal for publisher ids of one seller. */
  personOf: (publisherId: number) => string
}

type Facets = {
  values: ReadonlyMap<string, number>[]
  missing: number[]
  gpus: number
  prices: Map<string, PriceCounts>
}

/** All matches of one query in an index, which are found again after a change. */
export class IndexMatches {
  readonly #find: MatchesOptions['find']
  readonly #unionsOf: MatchesOptions['unionsOf']
  readonly #personOf: MatchesOptions['personOf']

  constructor({ find, unionsOf, personOf }: MatchesOptions) {
    this.#personOf = personOf
    this.#find = find
    this.#unionsOf = unionsOf
  }

  get total(): number {
    return this.#find().reduce((sum, { count }) => sum + count, 0)
  }

  /** With `null`, of each segment those with most. */
  offers(tokens: PriceLimit['tokens'] | null): Map<string, OfferCount> {
    const counter = new OfferCounter<string>()
    for (const { rows, slots, count } of this.#find()) {
      const { prices } = rows
      const counts = prices.countOffers(slots, count)
      const open = new Map<number, BasisCounter<string>>()
      for (const n of tokens === null ? greatest(counts) : new Set(prices.basesOf(tokens))) {
        if (counts[n] === 0) continue
        const counted = counter.of(prices.data.bases[n]!)
        counted.offers += counts[n]!
        if (!counted.isFull) open.set(n, counted)
      }
      countPublishers({ rows, slots, count }, open, this.#personOf)
    }
    return counter.counts
  }

  byPrice(order: PriceOrder, after: PriceAfter | null, cap?: Micros): Generator<FoundByPrice, void> {
    return byPrice(this.#find(), order, after, cap)
  }

  /** Values of these fields, matching or not; those of several segments count in each. */
  countDistinct(fields: readonly Filter[]): number {
    let count = 0
    for (const { rows } of this.#find()) for (const field of fields) count += columnIn(rows, field).size
    return count
  }

  /** In steps of some ms, all of the same matches. @throws Error for a path that the index lacks */
  *facets(fields: readonly Filter[], prices: PriceGrouping): Generator<void, Facets> {
    const matches = this.#find()
    const unions = this.#unionsOf(prices)
    const facets: Facets = { values: [], missing: [], gpus: countGpus(matches), prices: new Map() }
    yield
    for (const field of fields) {
      countValues(matches, field, facets)
      yield
    }
    for (const union of yield* unions) {
      const counted = union.count(matches)
      yield
      for (const [group, more] of counted) {
        const counts = facets.prices.get(group)
        facets.prices.set(group, counts === undefined ? more : addPriceCounts(counts, more))
      }
      yield
    }
    return facets
  }

  /** Different ones. */
  publisherIds(): number[] {
    const ids = new Set<number>()
    for (const { rows, slots } of this.#find())
      rows.publishers.countValues(slots, String, (id) => ids.add(Number(id)))
    return [...ids]
  }
}

/** By the shorter of both lists: the matches, or the rows with a price in one of these bases. */
function countPublishers(
  { rows, slots, count }: Pick<Match, 'rows' | 'slots' | 'count'>,
  open: ReadonlyMap<number, BasisCounter<string>>,
  personOf: MatchesOptions['personOf'],
): void {
  const { prices } = rows
  const { starts, basisOf } = prices.data
  let priced = 0
  for (const n of open.keys()) priced += prices.slotsOf(n).length
  if (priced <= count) {
    for (const [n, counted] of open)
      for (const slot of prices.slotsOf(n))
        if (hasBit(slots, slot)) counted.addPublisher(personOf(rows.publisherIdOf(slot)))
    return
  }
  forEachBit(slots, (slot) => {
    for (let at = starts[slot]!; at < starts[slot + 1]!; at++)
      open.get(basisOf[at]!)?.addPublisher(personOf(rows.publisherIdOf(slot)))
  })
}

function countGpus(matches: readonly Match[]): number {
  let sum = 0
  for (const { rows, slots } of matches) {
    const { gpus } = rows.prices.data
    forEachBit(slots, (slot) => {
      sum += gpus[slot]!
    })
  }
  return sum
}

function countValues(matches: readonly Match[], field: Filter, { values: all, missing }: Facets): void {
  const values = new Map<string, number>()
  let absent = 0
  const textOf = (value: Scalar): string => facetText(field, value)
  const add = (text: string, listings: number): void => addTo(values, text, listings)
  for (const { rows, slots, count } of matches)
    absent += count - columnIn(rows, field).countValues(slots, textOf, add)
  all.push(values)
  missing.push(absent)
}

/** @throws SourceError `unsupported_filter` where the column is still to be built */
function columnIn(rows: Segment, field: Filter): Column {
  const column = rows.columnOf(field)
  if (column !== undefined) return column
  const message = `the index is still learning filter ${field.name}: ask again later`
  throw new SourceError('unsupported_filter', message, { filters: [field.name] })
}
