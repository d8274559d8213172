import type { ListingStatus } from '../domain/listing.ts'
import type { PriceLimit } from '../domain/query.ts'
import type { Criterion } from '../filter-spec/filter.ts'
import { testOf } from '../filter-spec/operations/operations.ts'
import { type Bitset, bitset, countOf, onesIn, setBit } from './bitset.ts'
import type { Column } from './column.ts'
import type { DocumentScan } from './document-scan.ts'
import type { Lane } from './lanes.ts'
import type { Mask } from './masks.ts'
import type { Match } from './newest-first.ts'
import { MAX_SEGMENT_ROWS, type Segment } from './segment.ts'

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

/** The conditions of a question over an index. */
export type Conditions = CopyConditions & {
  /** Of the view: applied to what is shown, since a hidden copy is of a listing whose best copy decides. */
  standing: readonly Criterion[]
  /** As of a ranking. With a filter of the view, only what is shown matches. */
  maskOf: (segment: Segment) => Mask
  laneAt: (number: number) => Lane
  /** Evaluates criteria whose path the segment lacks. Default: there are none. */
  scan?: DocumentScan
}

/** As `evaluate.ts` does per document. */
export function matchSegment(segment: Segment, conditions: Conditions): Match {
  const { maskOf, standing } = conditions
  const { shown, present } = maskOf(segment)
  const isView = standing.length > 0
  const slots = bitset(segment.size)
  const count = matchRows(segment, conditions, slots, isView ? shown : present)
  if (count === 0 || isView || shown === present) return { rows: segment, slots, count }
  const hidden = bitset(segment.size)
  const left = split(slots, shown!, hidden)
  return { rows: segment, slots, count: left, ...(left < count && { hidden }) }
}

/** Sets `slots`. Returns the count. */
function matchRows(
  segment: Segment,
  { status, sellers, criteria, priceLimit, lanes, judgedBy, standing, laneAt, scan }: Conditions,
  slots: Bitset,
  mask: Bitset | null,
): number {
  const words = slots.length
  const all = standing.length === 0 ? criteria : [...criteria, ...standing]
  const indexed = all.flatMap((criterion) => {
    const column = segment.columnOf(criterion.filter)
    return column === undefined ? [] : { criterion, column }
  })
  const sets = indexed.map(({ criterion, column }, n) => passing(column, criterion, spare(n, words)))
  if (judgedBy !== undefined)
    for (const [n, { criterion }] of indexed.entries()) {
      const { name } = criterion.filter
      sets[n] = judged(segment, sets[n]!, (lane) => judgedBy.get(laneAt(lane).source)?.get(name))
    }
  const { length } = sets
  if (mask !== null) sets.push(mask)
  if (lanes !== undefined) sets.push(lanesIn(segment, (lane) => lanes(laneAt(lane))))
  if (sellers) sets.push(segment.sellers.having(sellers, spare(length, words)))
  if (priceLimit !== undefined) sets.push(segment.prices.within(priceLimit, spare(length + 1, words)))
  const live = status === null ? segment.live : segment.liveByStatus[status]
  const count = intersect(slots, live, sets)
  return length === all.length || count === 0 || scan === undefined ? count : scan.keep(segment, slots, all)
}

/**
 * What a column says of the rows, but for those that their sources have judged.
 * @param judgedIn the sellers whose rows of the lane pass; `null`: all, `undefined`: the column says it
 */
function judged(
  segment: Segment,
  passing: Bitset,
  judgedIn: (lane: number) => ReadonlySet<number> | null | undefined,
): Bitset {
  let slots = passing
  for (const sellers of new Set(segment.countByLane.keys().map(judgedIn))) {
    if (sellers === undefined) continue
    const judged = lanesIn(segment, (lane) => judgedIn(lane) === sellers)
    const passed = sellers === null ? judged : segment.sellers.having(sellers, bitset(segment.size))
    slots = slots.map((word, at) => (word & ~judged[at]!) | (passed[at]! & judged[at]!))
  }
  return slots
}

function lanesIn({ size, lanes, countByLane }: Segment, isIn: (lane: number) => boolean): Bitset {
  const inUse = new Set(countByLane.keys().filter(isIn))
  const slots = bitset(size)
  for (let slot = 0; slot < size; slot++) if (inUse.has(lanes[slot]!)) setBit(slots, slot)
  return slots
}

/** Moves the slots that are not shown to `hidden`. Returns how many are left. */
function split(slots: Bitset, shown: Bitset, hidden: Bitset): number {
  const words = slots.length
  for (let n = 0; n < words; n++) {
    const word = slots[n]!
    slots[n] = word & shown[n]!
    hidden[n] = word & ~shown[n]!
  }
  return countOf(slots)
}

/** Empty working sets in the nearest CPU caches, overwritten by each segment. */
const SPARES: Bitset[] = []

function spare(n: number, words: number): Bitset {
  SPARES[n] ??= bitset(MAX_SEGMENT_ROWS)
  return SPARES[n].subarray(0, words).fill(0)
}

/** Fills `spare`, or returns a set that must not be written to. */
function passing(column: Column, { test, onMissing }: Criterion, spare: Bitset): Bitset {
  const { present } = column.data
  const slots = testOf(test).match(test, column, spare)
  if (onMissing === 'fail') return slots
  for (let n = 0; n < spare.length; n++) spare[n] = slots[n]! | ~present[n]!
  return spare
}

/** Returns the count. `target` may be `base`. Three sets a pass, since memory access dominates. */
function intersect(target: Bitset, base: Bitset, [a = base, b = base, c = base, ...rest]: Bitset[]): number {
  const words = target.length
  let count = 0
  for (let n = 0; n < words; n++) {
    const word = base[n]! & a[n]! & b[n]! & c[n]!
    target[n] = word
    if (word !== 0) count += onesIn(word)
  }
  return rest.length === 0 ? count : intersect(target, target, rest)
}
