import { addTo } from '../domain/counts.ts'
import type { ListingStatus } from '../domain/listing.ts'
import type { PriceLimit } from '../domain/query.ts'
import { type BasisCounter, type OfferCount, OfferCounter } from '../domain/source/offer-counts.ts'
import type { PriceCounts, PriceGrouping, PriceOrder } from '../domain/source/selection.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { Micros } from '../domain/timestamp.ts'
import type { Criterion, Filter } from '../filter-spec/filter.ts'
import { facetText, type Scalar } from '../filter-spec/scalar.ts'
import { countIn, forEachBit, hasBit } from './bitset.ts'
import type { Column } from './column.ts'
import type { Copy } from './copy.ts'
import { addPriceCounts, greatest, type KeyUnion } from './key-union.ts'
import type { Lane, Lanes } from './lanes.ts'
import type { Mask } from './masks.ts'
import { type Match, newestFirst, olderThan } from './newest-first.ts'
import { byPrice, type PriceAfter } from './price-walk.ts'
import type { Place, RowPlace, Segment } from './segment.ts'

/** AND-ed. */
export type CopyConditions = {
  /** `null`: every status. */
  status: ListingStatus | null
  criteria: readonly Criterion[]
  priceLimit?: PriceLimit | undefined
  /** As of `Sellers`, such as `numbersOf` an address; `null`: all. */
  sellers?: ReadonlySet<number> | null
  /** What a source says of its rows by a filter, by the number of the source. The columns say nothing of them then. */
  judgedBy?: ReadonlyMap<number, JudgedFilters> | undefined
  /** Only rows of these lanes, among those that are shown. */
  lanes?: ((lane: Lane) => boolean) | undefined
}

/** By the name of the filter, the sellers whose rows pass; `null`: all. */
export type JudgedFilters = ReadonlyMap<string, ReadonlySet<number> | null>

export type CopyPage = {
  limit: number
  offset?: number | undefined
  /** Only rows behind this place, instead of an offset. */
  after?: Place | null | undefined
  /** Rows that are newer come last: about now. Default: none is. Microseconds. */
  cap?: Micros | undefined
}

/** Of one source: copies that match, and how many of them better copies hide. */
export type SourceCount = { matched: number; hidden: number }

export type Facets = {
  values: ReadonlyMap<string, number>[]
  missing: number[]
  gpus: number
  prices: Map<string, PriceCounts>
}

type CopyMatchesOptions = {
  /** As of now; none without a match. */
  find: () => readonly Match[]
  /** Of all segments as of now, in steps. */
  unionsOf: (prices: PriceGrouping) => Generator<void, readonly KeyUnion[]>
  /** Equal for sellers that are one. */
  personOf: (seller: number) => string
  copyAt: (row: RowPlace) => Copy
  lanes: Lanes
  /** The masks of a question without any condition but its status, whose counts are kept. */
  wholeMaskOf: ((segment: Segment) => Mask) | null
  /** In a view with a filter, the lane of each hidden copy of its listings. */
  hiddenInView?: () => Iterable<number>
}

/** All matches of one question, which are found again after a change: what is read in one turn agrees. */
export class CopyMatches {
  readonly #options: CopyMatchesOptions

  constructor(options: CopyMatchesOptions) {
    this.#options = options
  }

  get total(): number {
    return this.#options.find().reduce((sum, { count }) => sum + count, 0)
  }

  page({ limit, offset = 0, after = null, cap }: CopyPage): Copy[] {
    const matches = this.#options.find()
    const inOrder = after === null ? newestFirst(matches, offset, cap) : olderThan(matches, after, cap)
    return limit === 0 ? [] : [...inOrder.take(limit).map((row) => this.#options.copyAt(row))]
  }

  /** By price, then newest first; to be read in one turn. `price`: the lowest in its group; 0 without one. */
  *copiesByPrice(order: PriceOrder, after: PriceAfter | null) {
    for (const { rows, slot, group, price } of byPrice(this.#options.find(), order, after))
      yield { copy: this.#options.copyAt({ rows, slot }), group, price }
  }

  /** Equal ones are one seller. */
  sellers(): Set<string> {
    return new Set(this.sellerNumbers().map((seller) => this.#options.personOf(seller)))
  }

  /** In no order; all as of the first. */
  *copies(): Generator<Copy> {
    for (const { rows, slots } of this.#options.find())
      for (const slot of slotsIn(slots)) yield this.#options.copyAt({ rows, slot })
  }

  /** By number of source; none without a match. */
  bySource(): Map<number, SourceCount> {
    const { lanes, wholeMaskOf, find, hiddenInView } = this.#options
    const all = countsOf(lanes.size)
    for (const match of find()) {
      if (wholeMaskOf === null) countLanes(match, all)
      else addCounts(keptCounts(match, wholeMaskOf(match.rows), lanes.size), all)
    }
    for (const lane of hiddenInView?.() ?? []) {
      all.matched[lane]!++
      all.hidden[lane]!++
    }
    const bySource = new Map<number, SourceCount>()
    for (let lane = 0; lane < lanes.size; lane++) {
      const [matched, hidden] = [all.matched[lane]!, all.hidden[lane]!]
      if (matched === 0) continue
      const { source } = lanes.at(lane)
      const before = bySource.get(source)
      if (before === undefined) bySource.set(source, { matched, hidden })
      else {
        before.matched += matched
        before.hidden += hidden
      }
    }
    return bySource
  }

  /** With `null`, of each segment the bases of most prices. */
  offers(tokens: PriceLimit['tokens'] | null): Map<string, OfferCount> {
    const counter = new OfferCounter(this.#options.personOf)
    for (const match of this.#options.find()) {
      const { prices } = match.rows
      const counted: BasisCounter[] = []
      for (const n of tokens === null ? greatest(prices.countPrices()) : prices.basesOf(tokens))
        counted[n] = counter.of(prices.data.bases[n]!)
      countOffers(match, counted)
    }
    return counter.counts
  }

  /** Values of these fields, matching or not; those of several segments count in each. */
  countDistinct(fields: readonly Filter[]): number {
    let count = 0
    for (const { rows } of this.#options.find())
      for (const field of fields) count += columnIn(rows, field).size
    return count
  }

  /** Listings by value of each field, without prices; as of `facets`. */
  *values(fields: readonly Filter[]): Generator<void, Facets['values']> {
    return (yield* countFields(this.#options.find(), fields)).values
  }

  /** In steps of some ms, all of the same matches. @throws SourceError for a path that the index lacks */
  *facets(fields: readonly Filter[], prices: PriceGrouping): Generator<void, Facets> {
    const matches = this.#options.find()
    const unions = this.#options.unionsOf(prices)
    const gpus = countGpus(matches)
    yield
    const facets: Facets = { ...(yield* countFields(matches, fields)), gpus, prices: new Map() }
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
  sellerNumbers(): number[] {
    const ids = new Set<number>()
    for (const { rows, slots } of this.#options.find())
      rows.sellers.countValues(slots, String, (id) => ids.add(Number(id)))
    return [...ids]
  }
}

function slotsIn(slots: Match['slots']): number[] {
  const all: number[] = []
  forEachBit(slots, (slot) => all.push(slot))
  return all
}

/** Per lane. */
type LaneCounts = { matched: Uint32Array; hidden: Uint32Array }

const countsOf = (lanes: number): LaneCounts => {
  return { matched: new Uint32Array(lanes), hidden: new Uint32Array(lanes) }
}

function countLanes({ rows, slots, hidden, hiddenSlots }: Match, counts: LaneCounts): LaneCounts {
  const { lanes } = rows
  forEachBit(slots, (slot) => {
    counts.matched[lanes[slot]!]!++
  })
  if (hidden > 0)
    forEachBit(hiddenSlots!, (slot) => {
      counts.matched[lanes[slot]!]!++
      counts.hidden[lanes[slot]!]!++
    })
  return counts
}

function addCounts({ matched, hidden }: LaneCounts, all: LaneCounts): void {
  for (let lane = 0; lane < matched.length; lane++) {
    all.matched[lane]! += matched[lane]!
    all.hidden[lane]! += hidden[lane]!
  }
}

const keptByMask = new WeakMap<object, LaneCounts & { version: number }>()

/** Of a question without conditions, until a row of the segment or its mask changes. */
function keptCounts(match: Match, { shown }: Mask, lanes: number): LaneCounts {
  if (shown === null) return countLanes(match, countsOf(lanes))
  const before = keptByMask.get(shown)
  const { version } = match.rows
  if (before?.version === version) return before
  const counts = { ...countLanes(match, countsOf(lanes)), version }
  keptByMask.set(shown, counts)
  return counts
}

/** So many times fewer rows that match are looked at one by one. */
const FEW = 4

/** @param counted by number of the basis */
function countOffers({ rows, slots, count }: Match, counted: readonly BasisCounter[]): void {
  const { prices } = rows
  const { starts, basisOf } = prices.data
  let priced = 0
  counted.forEach((_, n) => {
    priced += prices.slotsOf(n).length
  })
  if (count * FEW < priced)
    forEachBit(slots, (slot) => {
      for (let at = starts[slot]!; at < starts[slot + 1]!; at++)
        counted[basisOf[at]!]?.add(rows.sellerOf(slot))
    })
  else
    counted.forEach((counter, n) => {
      const having = prices.slotsOf(n)
      let at = 0
      for (; at < having.length && !counter.isFull; at++)
        if (hasBit(slots, having[at]!)) counter.add(rows.sellerOf(having[at]!))
      counter.offers += countIn(slots, having, at, having.length)
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

function* countFields(
  matches: readonly Match[],
  fields: readonly Filter[],
): Generator<void, Pick<Facets, 'values' | 'missing'>> {
  const counts: Pick<Facets, 'values' | 'missing'> = { values: [], missing: [] }
  for (const field of fields) {
    const values = new Map<string, number>()
    let absent = 0
    const textOf = (value: Scalar): string => facetText(field, value)
    const add = (text: string, listings: number): void => addTo(values, text, listings)
    for (const { rows, slots, count } of matches)
      absent += count - columnIn(rows, field).countValues(slots, textOf, add)
    counts.values.push(values)
    counts.missing.push(absent)
    yield
  }
  return counts
}

/** @throws SourceError `unsupported_filter` where the column is still to be built */
function columnIn(rows: Segment, field: Filter): Column {
  const column = rows.columnOf(field)
  if (column !== undefined) return column
  const message = `the index is still learning filter ${field.name}: ask again later`
  throw new SourceError('unsupported_filter', message, { filters: [field.name] })
}
