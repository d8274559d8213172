import { addAllExcept, type Bitset, bitset, setBit } from './bitset.ts'
import { countBelow, isLess, type Numeric } from './numeric.ts'
import type { Posting } from './posting.ts'

export type Held = { value: Numeric; slots: Posting }

export type SegmentParts = {
  values: Numeric[]
  ends: number[]
  slots: Uint16Array
  andAbove: Bitset
  own: Bitset | null
}

/** A segment reserved for one number keeps no slots. Others keep them flat: reading them dominates ranges. */
export class Segment {
  /** Ascending and unique. */
  values: Numeric[] = []
  /** Slots with a value of this or a later segment. Maintained by the owner. */
  readonly andAbove: Bitset
  /** Slots with a value of this segment, after `keepOwn`. */
  own: Bitset | null = null
  readonly #size: number
  /** End of each value's slots. Empty where reserved for one value. */
  #ends: number[] = []
  #slots: Uint16Array = new Uint16Array(8)

  /** Copies `above`, the slots of later segments. */
  static above(size: number, above: Bitset | undefined): Segment {
    return new Segment(size, above?.slice() ?? bitset(size))
  }

  /** `held` is ascending and not empty. A long segment of one value is reserved for it. */
  static of(size: number, above: Bitset | undefined, held: readonly Held[]): Segment {
    const segment = Segment.above(size, above)
    for (const { value, slots } of held) {
      segment.values.push(value)
      slots.addTo(segment.andAbove)
    }
    const count = held.reduce((sum, { slots }) => sum + slots.count, 0)
    if (held.length === 1 && count > size / 32) return segment
    segment.#slots = new Uint16Array(count)
    let end = 0
    for (const { slots } of held) {
      slots.forEach((slot) => {
        segment.#slots[end++] = slot
      })
      segment.#ends.push(end)
    }
    return segment
  }

  static restore(size: number, { values, ends, slots, andAbove, own }: SegmentParts): Segment {
    const segment = new Segment(size, andAbove)
    segment.values = values
    segment.own = own
    segment.#ends = ends
    segment.#slots = slots
    return segment
  }

  private constructor(size: number, andAbove: Bitset) {
    this.#size = size
    this.andAbove = andAbove
  }

  get least(): Numeric {
    return this.values[0]!
  }

  /** Whether reading it costs more than a few bitsets. Never for a reserved segment. */
  get isLong(): boolean {
    return this.#length > this.#size / 16
  }

  takes(value: Numeric): boolean {
    return !this.#isForOne || this.values[0] === value
  }

  add(value: Numeric, slot: number): void {
    if (this.own !== null) setBit(this.own, slot)
    if (this.#isForOne) return
    const at = countBelow(this.values, value, false)
    if (at === this.values.length || isLess(value, this.values[at]!)) {
      this.values.splice(at, 0, value)
      this.#ends.splice(at, 0, this.#startOf(at))
    }
    this.#insert(slot, at)
  }

  /** `target ∪=` slots of the values in `[from, to)`. */
  addPart(target: Bitset, from: number, to = this.values.length): void {
    const slots = this.#slots
    const end = this.#startOf(to)
    for (let n = this.#startOf(from); n < end; n++) setBit(target, slots[n]!)
  }

  collectOwn(held: readonly Held[]): void {
    this.own = bitset(this.#size)
    for (const { slots } of held) slots.addTo(this.own)
  }

  /** Starts to keep `own`, while each slot has one number. `next` is the following segment. */
  keepOwn(next: Segment | undefined): void {
    this.own = bitset(this.#size)
    addAllExcept(this.own, this.andAbove, next?.andAbove ?? bitset(this.#size))
  }

  /** The value at which a cut halves the slots best; 0 for a single value. */
  middle(): number {
    const half = this.#length / 2
    const before = countBelow(this.#ends, half, false)
    const behind = before + 1
    if (behind === this.values.length) return before
    const isNearer = this.#startOf(behind) - half < half - this.#startOf(before)
    return before === 0 || isNearer ? behind : before
  }

  keepOnlyOne(): void {
    this.#ends = []
    this.#slots = new Uint16Array(0)
  }

  /** Moves the values from `from` on to a new segment. `above`: slots of later segments. */
  cutOff(from: number, above: Bitset | undefined): Segment {
    const upper = Segment.above(this.#size, above)
    const cut = this.#startOf(from)
    upper.#slots = this.#slots.slice(cut, this.#length)
    upper.#ends = this.#ends.splice(from).map((end) => end - cut)
    upper.values = this.values.splice(from)
    upper.addPart(upper.andAbove, 0)
    this.#slots = this.#slots.slice(0, cut)
    if (this.own !== null) {
      for (const half of [this, upper]) {
        half.own = bitset(this.#size)
        half.addPart(half.own, 0)
      }
    }
    return upper
  }

  parts(): SegmentParts {
    const { values, andAbove, own } = this
    return { values, ends: this.#ends, slots: this.#slots.subarray(0, this.#length), andAbove, own }
  }

  /** Reserved: an empty segment has no ends either. */
  get #isForOne(): boolean {
    return this.#ends.length === 0 && this.values.length > 0
  }

  get #length(): number {
    return this.#ends.at(-1) ?? 0
  }

  #startOf(value: number): number {
    return value === 0 ? 0 : this.#ends[value - 1]!
  }

  /** Inserts after the value's slots. */
  #insert(slot: number, value: number): void {
    const length = this.#length
    if (length === this.#slots.length) this.#grow()
    const place = this.#ends[value]!
    this.#slots.copyWithin(place + 1, place, length)
    this.#slots[place] = slot
    for (let n = value; n < this.#ends.length; n++) this.#ends[n]!++
  }

  #grow(): void {
    const slots = new Uint16Array(Math.max(8, this.#slots.length * 2))
    slots.set(this.#slots)
    this.#slots = slots
  }
}
