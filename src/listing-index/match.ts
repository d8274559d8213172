import type { ListingStatus } from '../domain/listing.ts'
import type { PriceLimit } from '../domain/query.ts'
import type { Criterion } from '../filter-spec/filter.ts'
import { testOf } from '../filter-spec/operations/operations.ts'
import { type Bitset, bitset, onesIn, removeAll, setBit } from './bitset.ts'
import type { Column } from './column.ts'
import type { DocumentScan } from './document-scan.ts'
import type { Mask } from './masks.ts'
import type { Match } from './newest-first.ts'
import { MAX_SEGMENT_ROWS, type Segment } from './segment.ts'

export type Conditions = {
  status: ListingStatus | null
  sellers: ReadonlySet<number> | null
  criteria: readonly Criterion[]
  priceLimit?: PriceLimit | undefined
  /** Of the view: applied to what is shown, since a hidden copy is of a listing whose best copy decides. */
  standing: readonly Criterion[]
  /** As of a ranking. With a filter of the view, only what is shown matches. */
  maskOf: (segment: Segment) => Mask
  /** Only rows of these lanes. */
  lanes?: ((lane: number) => boolean) | undefined
  /** Sellers whose rows of the lane pass, as their source says; `null`: all. Default, and `undefined`: the column says it. */
  judgedIn?: ((criterion: Criterion, lane: number) => ReadonlySet<number> | null | undefined) | undefined
  /** Evaluates criteria whose path the segment lacks. Default: there are none. */
  scan?: Pick<DocumentScan, 'keep'>
}

/** As `evaluate.ts` does per document. */
export function matchSegment(segment: Segment, conditions: Conditions): Match {
  const { maskOf, lanes, standing } = conditions
  const slots = segment.matches
  const { shown, present } = maskOf(segment)
  const isView = standing.length > 0
  const masks = [isView ? shown : present, lanes === undefined ? null : lanesIn(segment, lanes)]
  const found = matchRows(segment, conditions, masks, isView ? standing : [])
  if (found === 0 || isView || shown === present) return { rows: segment, slots, count: found, hidden: 0 }
  const { hiddenMatches } = segment
  const count = split(slots, shown!, hiddenMatches)
  return { rows: segment, slots, count, hidden: found - count, hiddenSlots: hiddenMatches }
}

/** Sets `segment.matches`. Returns the count. */
function matchRows(
  segment: Segment,
  { status, sellers, criteria, priceLimit, judgedIn, scan }: Conditions,
  masks: readonly (Bitset | null)[],
  standing: readonly Criterion[],
): number {
  const words = segment.live.length
  const all = standing.length === 0 ? criteria : [...criteria, ...standing]
  const sets = criteriaSets(segment, all, 0)
  if (judgedIn !== undefined) judge(segment, all, sets, judgedIn)
  const { length } = sets
  for (const mask of masks) if (mask !== null) sets.push(mask)
  if (sellers !== null) sets.push(segment.sellers.having(sellers, spare(length, words)))
  if (priceLimit !== undefined) sets.push(segment.prices.within(priceLimit, spare(length + 1, words)))
  const live = status === null ? segment.live : segment.liveByStatus[status]
  const count = intersect(segment.matches, live, sets)
  return length === all.length || count === 0 || scan === undefined ? count : scan.keep(segment, all)
}

function criteriaSets(segment: Segment, criteria: readonly Criterion[], from: number): Bitset[] {
  const sets: Bitset[] = []
  for (const criterion of criteria) {
    const column = segment.columnOf(criterion.filter)
    if (column !== undefined)
      sets.push(passing(column, criterion, spare(from + sets.length, segment.live.length)))
  }
  return sets
}

/** Replaces what columns say of rows that their sources have judged. */
function judge(
  segment: Segment,
  criteria: readonly Criterion[],
  sets: Bitset[],
  judgedIn: NonNullable<Conditions['judgedIn']>,
): void {
  const inColumns = criteria.filter(({ filter }) => segment.columnOf(filter) !== undefined)
  for (const [n, criterion] of inColumns.entries())
    for (const sellers of new Set(segment.countByLane.keys().map((lane) => judgedIn(criterion, lane)))) {
      if (sellers === undefined) continue
      const judged = lanesIn(segment, (lane) => judgedIn(criterion, lane) === sellers)
      const passed = sellers === null ? judged : segment.sellers.having(sellers, bitset(segment.size))
      sets[n] = sets[n]!.map((word, at) => (word & ~judged[at]!) | (passed[at]! & judged[at]!))
    }
}

function lanesIn({ size, lanes, countByLane }: Segment, isIn: (lane: number) => boolean): Bitset {
  const inUse = new Set(countByLane.keys().filter(isIn))
  const slots = bitset(size)
  for (let slot = 0; slot < size; slot++) if (inUse.has(lanes[slot]!)) setBit(slots, slot)
  return slots
}

/** Moves the slots that are not shown to `hidden`. Returns how many are left. */
function split(slots: Bitset, shown: Bitset, hidden: Bitset): number {
  for (let n = 0; n < slots.length; n++) hidden[n] = slots[n]! & ~shown[n]!
  return removeAll(slots, hidden)
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
