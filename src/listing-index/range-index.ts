import type { Bound } from '../filter-spec/criteria.ts'
import { addAll, addAllExcept, type Bitset, bitset, setBit } from './bitset.ts'
import { countBelow, type Numeric } from './numeric.ts'
import type { Posting } from './posting.ts'

/** Segments per block and column: a bit per slot each, so at most 8 bytes per slot. */
const MAX_SEGMENTS = 64

/**
 * The numbers of one column of one block in ascending order, cut into segments. Each segment knows the slots that
 * hold its least value or a greater one, so an interval is the difference of two bitsets plus, at either end, the
 * postings of the part of one segment. A segment is split when reading its postings has become dearer than reading a
 * bitset twice; few distinct values therefore end up with a segment each, and no posting is read at all.
 */
export class RangeIndex {
  readonly #slots: number
  /** The least value of each segment; anything below the first belongs to the first. */
  readonly #leasts: Numeric[] = []
  readonly #segments: Segment[] = []
  #several: boolean

  /**
   * @param slots size of the block
   * @param several whether a slot may hold several numbers: then it can lie beyond both ends of an interval without
   *   being in it, and the difference of two bitsets does not do
   */
  constructor(slots: number, several: boolean) {
    this.#slots = slots
    this.#several = several
  }

  /** A slot holds this number. `posting` holds that slot already, and is always the same for equal values. */
  add(value: Numeric, slot: number, posting: Posting): void {
    if (this.#segments.length === 0) this.#insertSegment(0, [value], [posting], bitset(this.#slots))
    const at = Math.max(0, countBelow(this.#leasts, value, true) - 1)
    const segment = this.#segments[at]!
    if (posting.count === 1) this.#insertValue(at, value, posting)
    for (let n = 0; n <= at; n++) setBit(this.#segments[n]!.andAbove, slot)
    segment.work++
    if (segment.work > this.#slots / 16 && segment.values.length > 1) this.#split(at)
  }

  /** From now on slots may hold more than one number. */
  allowSeveral(): void {
    this.#several = true
  }

  /**
   * The slots that hold a number between the bounds: a set of its own, not to be written to, or `target`, which must
   * be empty.
   */
  within(low: Bound | null, high: Bound | null, target: Bitset): Bitset {
    const from = low === null ? START : this.#seek(low.value, !low.inclusive)
    const to = high === null ? this.#end() : this.#seek(high.value, high.inclusive)
    if (from.value === 0 && to.segment === this.#segments.length) {
      return this.#segments[from.segment]?.andAbove ?? target
    }
    if (from.segment === to.segment) this.#addPostings(target, from.segment, from.value, to.value)
    if (from.segment >= to.segment) return target
    if (from.value > 0) this.#addPostings(target, from.segment, from.value)
    this.#addSegments(target, from.value > 0 ? from.segment + 1 : from.segment, to.segment)
    if (to.value > 0) this.#addPostings(target, to.segment, 0, to.value)
    return target
  }

  /** Where the first value stands that is not less than `bound`, or is greater where `beyond`. */
  #seek(bound: Numeric, beyond: boolean): Place {
    const segment = Math.max(0, countBelow(this.#leasts, bound, beyond) - 1)
    const values = this.#segments[segment]!.values
    const value = countBelow(values, bound, beyond)
    // Behind the last value of a segment is before the first of the next.
    return value === values.length ? { segment: segment + 1, value: 0 } : { segment, value }
  }

  #end(): Place {
    return { segment: this.#segments.length, value: 0 }
  }

  /** Whole segments, `to` excluded. */
  #addSegments(target: Bitset, from: number, to: number): void {
    const first = this.#segments[from]
    const beyond = this.#segments[to]
    if (first === undefined || from >= to) return
    if (beyond === undefined) addAll(target, first.andAbove)
    else if (!this.#several) addAllExcept(target, first.andAbove, beyond.andAbove)
    else for (let n = from; n < to; n++) this.#addPostings(target, n, 0)
  }

  /** The values of one segment, `to` excluded. */
  #addPostings(target: Bitset, at: number, from: number, to?: number): void {
    const postings = this.#segments[at]?.postings ?? []
    const end = to ?? postings.length
    for (let n = from; n < end; n++) postings[n]!.addTo(target)
  }

  #insertValue(at: number, value: Numeric, posting: Posting): void {
    const { values, postings } = this.#segments[at]!
    const position = countBelow(values, value, false)
    if (values[position] === value) return
    values.splice(position, 0, value)
    postings.splice(position, 0, posting)
    this.#leasts[at] = values[0]!
  }

  #split(at: number): void {
    const { values, postings } = this.#segments[at]!
    if (this.#segments.length === MAX_SEGMENTS) return
    const half = middleOf(postings)
    const andAbove = bitset(this.#slots)
    const next = this.#segments[at + 1]
    if (next !== undefined) addAll(andAbove, next.andAbove)
    const upper = postings.splice(half)
    for (const posting of upper) posting.addTo(andAbove)
    this.#insertSegment(at + 1, values.splice(half), upper, andAbove)
    this.#segments[at]!.work = workOf(postings)
  }

  #insertSegment(at: number, values: Numeric[], postings: Posting[], andAbove: Bitset): void {
    this.#leasts.splice(at, 0, values[0]!)
    this.#segments.splice(at, 0, { values, postings, andAbove, work: workOf(postings) })
  }
}

type Segment = {
  /** Ascending, and one posting each. */
  values: Numeric[]
  postings: Posting[]
  /** The slots that hold a value of this segment or of a later one. */
  andAbove: Bitset
  /** Slots that were added since the last split: about what reading its postings costs. */
  work: number
}

/** A value's place: it need not exist, then it is the end. */
type Place = { segment: number; value: number }

const START: Place = { segment: 0, value: 0 }

const workOf = (postings: readonly Posting[]): number =>
  postings.reduce((sum, posting) => sum + posting.count, 0)

/** Where to cut so that both sides have work to do about equally; neither side is empty. */
const middleOf = (postings: readonly Posting[]): number => {
  const half = workOf(postings) / 2
  let sum = 0
  let at = 0
  while (at < postings.length - 1 && sum + postings[at]!.count <= half) sum += postings[at++]!.count
  return Math.max(1, at)
}
