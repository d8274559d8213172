import type { ListingStatus } from '../domain/listing.ts'
import type { Criterion, FilterTest } from '../filter-spec/criteria.ts'
import { type Bitset, bitset } from './bitset.ts'
import type { Column, Posting } from './column.ts'
import { intersect, intersectFew, type Operand } from './intersect.ts'
import type { Match } from './newest-first.ts'
import { MAX_SEGMENT_ROWS, type Segment } from './segment.ts'

export type Conditions = {
  status: ListingStatus | null
  publisherId: number | null
  criteria: readonly { column: number; criterion: Criterion }[]
}

/** As `evaluate.ts` does per document. A condition without matches ends it before any set is read. */
export function matchSegment(segment: Segment, conditions: Conditions): Match<Segment> {
  const { status } = conditions
  const live = status === null ? segment.live : segment.liveByStatus[status]
  const count = status === null ? segment.liveCount : segment.counts[status]
  const sides = count === 0 ? [] : sidesOf(segment, conditions)
  if (sides.length === 0) return { rows: segment, slots: live, count }
  const slots = segment.matches
  if (sides.some(({ most }) => most === 0)) return { rows: segment, slots, count: 0 }
  const sparsest = sparsestOf(sides)
  const operands = sides
    .filter((side) => side !== sparsest)
    .map(({ bits, flip }, n): Operand => ({ bits: bits(spare(n, slots.length)), flip }))
  if (!sparsest) return { rows: segment, slots, count: intersect(slots, live, operands) }
  operands.unshift({ bits: live, flip: 0 })
  return { rows: segment, slots, count: intersectFew(slots, sparsest.list!, operands) }
}

/** Working sets in the nearest CPU caches, overwritten by each segment. */
const SPARES: Bitset[] = []

function spare(n: number, words: number): Bitset {
  SPARES[n] ??= bitset(MAX_SEGMENT_ROWS)
  return SPARES[n].subarray(0, words)
}

/** The smallest side that is kept as a list. */
function sparsestOf(sides: readonly Side[]): Side | null {
  let sparsest: Side | null = null
  for (const side of sides) {
    if (side.list !== null && (sparsest === null || side.most < sparsest.most)) sparsest = side
  }
  return sparsest
}

type Side = {
  /** Upper bound of its slots. */
  most: number
  /** An existing set, or `spare` filled. */
  bits: (spare: Bitset) => Bitset
  flip: Operand['flip']
  /** The same as a list, where slots are few. */
  list: Uint16Array | null
}

function sidesOf(segment: Segment, { publisherId, criteria }: Conditions): Side[] {
  const sides = criteria.flatMap(({ column, criterion }) =>
    sidesFor(segment.columns[column]!, criterion, segment.size),
  )
  if (publisherId !== null) sides.push(anyOf(segment.publishers.postingsOf(new Set([publisherId]))))
  return sides
}

/** Empty where every slot passes. */
function sidesFor(column: Column, { test, onMissing }: Criterion, size: number): Side[] {
  const { present, presentCount } = column.data
  const side = sideOf(column, test)
  const sides = side === null ? [] : [side]
  if (presentCount === size) return sides
  // An inverted side has the slots without a value too.
  if (onMissing === 'pass') return side?.flip === 0 ? [orMissing(side, column, size)] : sides
  if (side?.flip === 0) return sides
  return [{ most: presentCount, bits: () => present, flip: 0, list: null }, ...sides]
}

/** `null` where every slot with a value passes. */
function sideOf(column: Column, test: FilterTest): Side | null {
  const { presentCount, ranges } = column.data
  switch (test.op) {
    case 'in':
      return anyOf(column.postingsOf(test.values))
    case 'not_in':
      return { ...anyOf(column.postingsOf(test.values)), most: ALL, flip: -1, list: null }
    case 'range':
      return {
        most: ranges === null ? 0 : presentCount,
        bits: (spare) => column.within(test.low, test.high, spare.fill(0)),
        flip: 0,
        list: null,
      }
    case 'exists':
      return test.wanted ? null : anyOf([])
  }
}

const ALL = MAX_SEGMENT_ROWS

function anyOf(postings: readonly Posting[]): Side {
  const only = postings.length === 1 ? postings[0]! : null
  return {
    most: postings.reduce((sum, posting) => sum + posting.count, 0),
    bits: (spare) => only?.bits ?? union(postings, spare),
    flip: 0,
    list: only?.list ?? null,
  }
}

function union(postings: readonly Posting[], target: Bitset): Bitset {
  target.fill(0)
  for (const posting of postings) posting.addTo(target)
  return target
}

function orMissing(side: Side, { data: { present, presentCount } }: Column, size: number): Side {
  return {
    most: side.most + size - presentCount,
    bits: (spare) => addAllMissing(spare, side.bits(spare), present),
    flip: 0,
    list: null,
  }
}

/** `target = set ∪ those not in present` */
function addAllMissing(target: Bitset, set: Bitset, present: Bitset): Bitset {
  const words = target.length
  for (let n = 0; n < words; n++) target[n] = set[n]! | ~present[n]!
  return target
}
