import { addAllExcept, type Bitset, bitset, setBit } from './bitset.ts'
import { countBelow, isLess, type Numeric } from './numeric.ts'
import type { Posting } from './posting.ts'

/** A number and who holds it. */
export type Held = { value: Numeric; slots: Posting }

/** A segment as plain data. */
export type SegmentParts = {
  values: Numeric[]
  ends: number[]
  slots: Uint16Array
  andAbove: Bitset
  own: Bitset | null
}

/**
 * Neighbouring numbers and who holds them: their slots in ascending order of the numbers, in flat memory, because
 * reading a part of a segment is most of what a range costs. Of a segment for one number only, nothing but that
 * number is kept.
 */
export class Segment {
  /** Ascending, each once. */
  values: Numeric[] = []
  /** The slots that hold a value of this segment or of a later one. The owner of the segments adds to it. */
  readonly andAbove: Bitset
  /** The slots that hold a value of this segment, once `keepOwn` was called. */
  own: Bitset | null = null
  readonly #size: number
  /** Of each value, where its slots end, and the next one's begin. Empty in a segment for one value only. */
  #ends: number[] = []
  #slots: Uint16Array = new Uint16Array(8)

  /**
   * @param size of the block
   * @param above the slots that hold a value of a later segment; a copy of them becomes `andAbove`
   */
  static above(size: number, above: Bitset | undefined): Segment {
    return new Segment(size, above?.slice() ?? bitset(size))
  }

  /** With these values, ascending, at least one. What is long with only one value is for that one only. */
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

  /** What another segment was; it takes the parts over. */
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

  /** Whether it has come to be dearer to read than a few bitsets. Never for a segment of one value. */
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

  /** `target ∪=` the slots of the values from position `from` to before `to`. */
  addPart(target: Bitset, from: number, to = this.values.length): void {
    const slots = this.#slots
    const end = this.#startOf(to)
    for (let n = this.#startOf(from); n < end; n++) setBit(target, slots[n]!)
  }

  /** Begins to keep `own`, which is what these hold. */
  collectOwn(held: readonly Held[]): void {
    this.own = bitset(this.#size)
    for (const { slots } of held) slots.addTo(this.own)
  }

  /** Begins to keep `own`. Slots hold one number each so far; `next` is the segment behind. */
  keepOwn(next: Segment | undefined): void {
    this.own = bitset(this.#size)
    addAllExcept(this.own, this.andAbove, next?.andAbove ?? bitset(this.#size))
  }

  /** The value to cut before, so that about half of the slots is on either side. 0 where there is only one value. */
  middle(): number {
    const half = this.#length / 2
    const before = countBelow(this.#ends, half, false)
    const behind = before + 1
    if (behind === this.values.length) return before
    const isNearer = this.#startOf(behind) - half < half - this.#startOf(before)
    return before === 0 || isNearer ? behind : before
  }

  /** From now on for the only value that it holds. */
  keepOnlyOne(): void {
    this.#ends = []
    this.#slots = new Uint16Array(0)
  }

  /** Takes the values from a position on away, into a new segment. `above` is what comes behind it. */
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

  /** Only a segment that holds nothing yet, or one for a single value, has no ends. */
  get #isForOne(): boolean {
    return this.#ends.length === 0 && this.values.length > 0
  }

  get #length(): number {
    return this.#ends.at(-1) ?? 0
  }

  #startOf(value: number): number {
    return value === 0 ? 0 : this.#ends[value - 1]!
  }

  /** Puts a slot behind those of a value. */
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
