import type { Bound } from '../filter-spec/criteria.ts'
import { addAll, addAllExcept, type Bitset, bitset, setBit } from './bitset.ts'
import type { Dictionary } from './dictionary.ts'
import { compareNumbers, countBelow, type Numeric } from './numeric.ts'
import { type Held, Segment, type SegmentParts } from './segment.ts'

export type RangeIndexParts = { several: boolean; segments: SegmentParts[] }

/** More than one number per slot ever needs; bounds the work where slots hold hundreds. */
const MAX_SEGMENTS = 256

/**
 * Ascending segments, each with the set of slots at or above it: an interval is the difference of two sets
 * plus parts of two segments. A frequent value has a segment of its own, without parts.
 */
export class RangeIndex {
  readonly #slots: number
  /** Least value per segment; lower values belong to the first. */
  readonly #leasts: Numeric[] = []
  readonly #segments: Segment[] = []
  #several: boolean

  /** With `several`, a slot may lie on both sides of an interval only: set difference is not exact then. */
  constructor(slots: number, several: boolean) {
    this.#slots = slots
    this.#several = several
  }

  static of(slots: number, several: boolean, values: Dictionary): RangeIndex {
    const ranges = new RangeIndex(slots, several)
    let above: Segment | undefined
    for (const group of segmentsOf(numbersIn(values), slots).reverse()) {
      const segment = Segment.of(slots, above?.andAbove, group)
      if (several) segment.collectOwn(group)
      ranges.#segments.push(segment)
      ranges.#leasts.push(segment.least)
      above = segment
    }
    ranges.#segments.reverse()
    ranges.#leasts.reverse()
    return ranges
  }

  static restore(slots: number, { several, segments }: RangeIndexParts): RangeIndex {
    const ranges = new RangeIndex(slots, several)
    for (const parts of segments) {
      const segment = Segment.restore(slots, parts)
      ranges.#segments.push(segment)
      ranges.#leasts.push(segment.least)
    }
    return ranges
  }

  /** The slot must not hold the number yet. */
  add(value: Numeric, slot: number): void {
    const at = this.#segmentFor(value)
    const segment = this.#segments[at]!
    for (let n = 0; n <= at; n++) setBit(this.#segments[n]!.andAbove, slot)
    segment.add(value, slot)
    this.#leasts[at] = segment.least
    if (segment.isLong && this.#segments.length < MAX_SEGMENTS) this.#shorten(at)
  }

  /** Allows several numbers per slot from now on. */
  allowSeveral(): void {
    this.#several = true
    this.#segments.forEach((segment, n) => {
      segment.keepOwn(this.#segments[n + 1])
    })
  }

  /** `target` must be empty. Returns it, or a set that must not be written to. */
  within(low: Bound | null, high: Bound | null, target: Bitset): Bitset {
    const from = low === null ? START : this.#seek(low.value, !low.inclusive)
    const to = high === null ? this.#end() : this.#seek(high.value, high.inclusive)
    if (from.value === 0 && to.segment === this.#segments.length) {
      return this.#segments[from.segment]?.andAbove ?? target
    }
    if (from.segment === to.segment) this.#addPart(target, from.segment, from.value, to.value)
    if (from.segment >= to.segment) return target
    if (from.value > 0) this.#addPart(target, from.segment, from.value)
    this.#addSegments(target, from.value > 0 ? from.segment + 1 : from.segment, to.segment)
    if (to.value > 0) this.#addPart(target, to.segment, 0, to.value)
    return target
  }

  parts(): RangeIndexParts {
    return { several: this.#several, segments: this.#segments.map((segment) => segment.parts()) }
  }

  /** Position of the first value not less than `bound`, or greater if `beyond`. */
  #seek(bound: Numeric, beyond: boolean): Place {
    const segment = Math.max(0, countBelow(this.#leasts, bound, beyond) - 1)
    const { values } = this.#segments[segment]!
    const value = countBelow(values, bound, beyond)
    // The end of a segment is the start of the next.
    return value === values.length ? { segment: segment + 1, value: 0 } : { segment, value }
  }

  #end(): Place {
    return { segment: this.#segments.length, value: 0 }
  }

  /** `to` is exclusive. */
  #addSegments(target: Bitset, from: number, to: number): void {
    const first = this.#segments[from]
    const beyond = this.#segments[to]
    if (first === undefined || from >= to) return
    if (beyond === undefined) addAll(target, first.andAbove)
    else if (!this.#several) addAllExcept(target, first.andAbove, beyond.andAbove)
    else for (let n = from; n < to; n++) addAll(target, this.#segments[n]!.own!)
  }

  #addPart(target: Bitset, at: number, from: number, to?: number): void {
    this.#segments[at]?.addPart(target, from, to)
  }

  /** The value's segment; new where its neighbours are reserved for other values. */
  #segmentFor(value: Numeric): number {
    const at = countBelow(this.#leasts, value, true) - 1
    if (at === -1) return this.#segments[0]?.takes(value) ? 0 : this.#insert(0, value)
    if (this.#segments[at]!.takes(value)) return at
    return this.#segments[at + 1]?.takes(value) ? at + 1 : this.#insert(at + 1, value)
  }

  #insert(at: number, least: Numeric): number {
    const segment = Segment.above(this.#slots, this.#segments[at]?.andAbove)
    if (this.#several) segment.own = bitset(this.#slots)
    this.#leasts.splice(at, 0, least)
    this.#segments.splice(at, 0, segment)
    return at
  }

  #shorten(at: number): void {
    const segment = this.#segments[at]!
    const cut = segment.middle()
    if (cut === 0) segment.keepOnlyOne()
    else this.#split(at, cut)
  }

  #split(at: number, cut: number): void {
    const upper = this.#segments[at]!.cutOff(cut, this.#segments[at + 1]?.andAbove)
    this.#leasts.splice(at + 1, 0, upper.least)
    this.#segments.splice(at + 1, 0, upper)
  }
}

/** The segment may be one past the last. */
type Place = { segment: number; value: number }

const START: Place = { segment: 0, value: 0 }

function numbersIn(values: Dictionary): Held[] {
  const numbers: Held[] = []
  for (const [value, slots] of values.entries()) if (typeof value !== 'string') numbers.push({ value, slots })
  return numbers.sort((a, b) => compareNumbers(a.value, b.value))
}

/** Grouped up to half the length at which a segment is split. */
function segmentsOf(numbers: readonly Held[], slots: number): Held[][] {
  const total = numbers.reduce((sum, { slots: { count } }) => sum + count, 0)
  const most = Math.max(slots / 32, (2 * total) / MAX_SEGMENTS)
  const groups: Held[][] = []
  let length = most
  for (const held of numbers) {
    const { count } = held.slots
    if (length + count > most) {
      groups.push([])
      length = 0
    }
    groups.at(-1)!.push(held)
    length += count
  }
  return groups
}
