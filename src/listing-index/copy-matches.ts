import { addTo } from '../domain/counts.ts'
import type { PriceCounts, PriceGrouping, PriceOrder } from '../domain/price/price-order.ts'
import type { PriceLimit } from '../domain/query.ts'
import { BasisCounter, type OfferCount } from '../domain/source/offer-counts.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { Micros } from '../domain/timestamp.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { facetText, type Scalar } from '../filter-spec/scalar.ts'
import { type Bitset, countCommon, countIn, forEachBit, hasBit, slotsIn } from './bitset.ts'
import type { Column } from './column.ts'
import type { Copy } from './copy.ts'
import { addPriceCounts, greatest } from './key-union.ts'
import type { Mask } from './masks.ts'
import { type Match, newestFirst, olderThan } from './newest-first.ts'
import { digitsOf } from './price-columns.ts'
import { byPrice, type PriceAfter } from './price-walk.ts'
import { baseOf, findMatches, hiddenInView, type IndexParts, type IndexQuestion } from './scope.ts'
import type { Place, Segment } from './segment.ts'

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

/** All matches of one question, which are found again after a change: what is read in one turn agrees. */
export class CopyMatches {
  readonly #question: IndexQuestion
  readonly #parts: IndexParts
  #version = -1
  #found: readonly Match[] = []

  constructor(question: IndexQuestion) {
    this.#question = question
    this.#parts = question.parts
  }

  /** As of now; none without a match. */
  get #matches(): readonly Match[] {
    const { version } = this.#parts
    if (version !== this.#version) this.#found = findMatches(this.#question)
    this.#version = version
    return this.#found
  }

  get total(): number {
    return this.#matches.reduce((sum, { count }) => sum + count, 0)
  }

  page({ limit, offset = 0, after = null, cap }: CopyPage): Copy[] {
    const matches = this.#matches
    const inOrder = after === null ? newestFirst(matches, offset, cap) : olderThan(matches, after, cap)
    return limit === 0 ? [] : [...inOrder.take(limit).map((row) => this.#parts.copyAt(row))]
  }

  /** By price, then newest first; to be read in one turn. `price`: the lowest in its group; 0 without one. */
  *copiesByPrice(order: PriceOrder, after: PriceAfter | null) {
    for (const { rows, slot, group, price } of byPrice(this.#matches, order, after))
      yield { copy: this.#parts.copyAt({ rows, slot }), group, price }
  }

  /** Equal ones are one seller. */
  sellers(): Set<string> {
    return new Set(this.sellerNumbers().map((seller) => this.#parts.sellers.personOf(seller)))
  }

  /** In no order; all as of the first. */
  *copies(): Generator<Copy> {
    for (const { rows, slots } of this.#matches)
      for (const slot of slotsIn(slots)) yield this.#parts.copyAt({ rows, slot })
  }

  /** By number of source; none without a match. */
  bySource(): Map<number, SourceCount> {
    const { lanes } = this.#parts
    const { conditions, isWhole } = this.#question
    const all = countsOf(lanes.size)
    for (const match of this.#matches) {
      if (isWhole) addCounts(keptCounts(match, conditions.maskOf(match.rows), lanes.size), all)
      else countLanes(match, all)
    }
    for (const lane of hiddenInView(this.#question)) {
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
    const counters = new Map<string, BasisCounter>()
    const { sellers } = this.#parts
    const personOf = (seller: number): string => sellers.personOf(seller)
    for (const match of this.#matches) {
      const { prices } = match.rows
      const { counts } = prices
      const counted = new Array<BasisCounter>(counts.length)
      let work = 0
      for (const n of tokens === null ? greatest(counts) : prices.basesOf(tokens)) {
        const basis = prices.data.bases[n]!
        const counter = counters.get(basis) ?? new BasisCounter(personOf)
        counters.set(basis, counter)
        counted[n] = counter
        work += prices.setOf(n)?.length ?? counts[n]!
      }
      if (match.count * FEW < work) countByRow(match, counted)
      else countByBasis(match, counted)
    }
    const having = [...counters].filter(([, { offers }]) => offers > 0)
    return new Map(having.map(([basis, { offers, publishers }]) => [basis, { offers, publishers }]))
  }

  /** Values of these fields, matching or not; those of several segments count in each. */
  countDistinct(fields: readonly Filter[]): number {
    let count = 0
    for (const { rows } of this.#matches) for (const field of fields) count += columnIn(rows, field).size
    return count
  }

  /** Listings by value of each field, without prices; as of `facets`. */
  *values(fields: readonly Filter[]): Generator<void, Facets['values']> {
    return (yield* countFields(this.#matches, fields)).values
  }

  /** In steps of some ms, all of the same matches. @throws SourceError for a path that the index lacks */
  *facets(fields: readonly Filter[], prices: PriceGrouping): Generator<void, Facets> {
    const matches = this.#matches
    const { segments, unions } = this.#parts
    const united = unions.of(prices, segments.all, segments.plan.rows, baseOf(this.#question.scope))
    const gpus = countGpus(matches)
    yield
    const facets: Facets = { ...(yield* countFields(matches, fields)), gpus, prices: new Map() }
    for (const union of united) {
      const counted = yield* union.count(matches)
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
    for (const { rows, slots } of this.#matches)
      rows.sellers.countValues(slots, String, (id) => ids.add(Number(id)))
    return [...ids]
  }
}

/** Per lane. */
type LaneCounts = { matched: Uint32Array; hidden: Uint32Array }

const countsOf = (lanes: number): LaneCounts => {
  return { matched: new Uint32Array(lanes), hidden: new Uint32Array(lanes) }
}

function countLanes({ rows, slots, hidden }: Match, counts: LaneCounts): LaneCounts {
  countSlots(slots, rows.lanes, counts.matched)
  if (hidden !== undefined) {
    countSlots(hidden, rows.lanes, counts.matched)
    countSlots(hidden, rows.lanes, counts.hidden)
  }
  return counts
}

/** Of all matches of every question: without a call for each they take a third of the time. */
function countSlots(slots: Bitset, lanes: Uint16Array, counts: Uint32Array): void {
  for (let n = 0; n < slots.length; n++)
    for (let word = slots[n]!; word !== 0; word &= word - 1)
      counts[lanes[n * 32 + 31 - Math.clz32(word & -word)]!]!++
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
function countByRow({ rows, slots }: Match, counted: readonly BasisCounter[]): void {
  const { starts, basisOf } = rows.prices.data
  const offers = new Uint32Array(counted.length)
  const isOpen = Uint8Array.from(counted, (counter) => Number(counter?.isFull === false))
  forEachBit(slots, (slot) => {
    const end = starts[slot + 1]!
    for (let at = starts[slot]!; at < end; at++) {
      const basis = basisOf[at]!
      offers[basis]!++
      if (isOpen[basis] === 0) continue
      counted[basis]!.addPublisher(rows.sellerOf(slot))
      isOpen[basis] = Number(!counted[basis]!.isFull)
    }
  })
  counted.forEach((counter, n) => {
    counter.offers += offers[n]!
  })
}

/** As `countByRow`. */
function countByBasis({ rows, slots }: Match, counted: readonly BasisCounter[]): void {
  const { prices } = rows
  counted.forEach((counter, n) => {
    const having = prices.slotsOf(n)
    const set = prices.setOf(n)
    counter.offers += set === null ? countIn(slots, having, 0, having.length) : countCommon(set, slots)
    for (let at = 0; at < having.length && !counter.isFull; at++)
      if (hasBit(slots, having[at]!)) counter.addPublisher(rows.sellerOf(having[at]!))
  })
}

function countGpus(matches: readonly Match[]): number {
  let sum = 0
  for (const { rows, slots } of matches)
    for (const [n, digit] of digitsOf(rows.prices.data.gpus).entries())
      sum += 2 ** n * countCommon(digit, slots)
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
