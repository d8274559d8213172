import type { ListingStatus } from '../domain/listing.ts'
import type { PriceLimit } from '../domain/query.ts'
import type { Criterion, FilterTest } from '../filter-spec/criteria.ts'
import { type Bitset, bitset, onesIn, setBit } from './bitset.ts'
import type { Column, Posting } from './column.ts'
import type { Match } from './newest-first.ts'
import { MAX_SEGMENT_ROWS, type Segment } from './segment.ts'

export type Conditions = {
  status: ListingStatus | null
  publisherId: number | null
  criteria: readonly { column: number; criterion: Criterion }[]
  priceLimit?: PriceLimit | undefined
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

function sidesOf(segment: Segment, { publisherId, criteria, priceLimit }: Conditions): Side[] {
  const sides = criteria.flatMap(({ column, criterion }) =>
    sidesFor(segment.columns[column]!, criterion, segment.size),
  )
  if (publisherId !== null) sides.push(anyOf(segment.publishers.postingsOf(new Set([publisherId]))))
  if (priceLimit !== undefined) sides.push(anyOf(segment.prices.within(priceLimit)))
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

/** One side of an intersection: `bits`, inverted where `flip` is -1. */
type Operand = { bits: Bitset; flip: 0 | -1 }

/** Returns the count. `result` may be `base`. Three operands a pass, since memory access dominates. */
function intersect(result: Bitset, base: Bitset, operands: readonly Operand[]): number {
  const all: Operand = { bits: base, flip: 0 }
  const [a = all, b = all, c = all, ...rest] = operands
  const count = intersectThree(result, base, a, b, c)
  return rest.length === 0 || count === 0 ? count : intersect(result, result, rest)
}

/** For a base of few slots: checks them one by one, and reads no other words. */
function intersectFew(result: Bitset, base: Uint16Array, operands: readonly Operand[]): number {
  candidates.set(base)
  let count = base.length
  for (const operand of operands) count = keepThoseIn(operand, count)
  result.fill(0)
  for (let n = 0; n < count; n++) setBit(result, candidates[n]!)
  return count
}

const candidates = new Uint16Array(MAX_SEGMENT_ROWS)

/** Moves matching candidates to the front. Branchless, because about half of them match. */
function keepThoseIn({ bits, flip }: Operand, count: number): number {
  let kept = 0
  for (let n = 0; n < count; n++) {
    const slot = candidates[n]!
    candidates[kept] = slot
    kept += ((bits[slot >> 5]! ^ flip) >>> (slot & 31)) & 1
  }
  return kept
}

function intersectThree(result: Bitset, base: Bitset, a: Operand, b: Operand, c: Operand): number {
  const words = result.length
  const { bits: aBits, flip: aFlip } = a
  const { bits: bBits, flip: bFlip } = b
  const { bits: cBits, flip: cFlip } = c
  let count = 0
  for (let n = 0; n < words; n++) {
    const word = base[n]! & (aBits[n]! ^ aFlip) & (bBits[n]! ^ bFlip) & (cBits[n]! ^ cFlip)
    result[n] = word
    if (word !== 0) count += onesIn(word)
  }
  return count
}
