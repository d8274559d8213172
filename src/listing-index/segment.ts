import { addAllExcept, type Bitset, bitset, setBit } from './bitset.ts'
import { countBelow, type Numeric } from './numeric.ts'
import type { Posting } from './posting.ts'

/** A number and who holds it. */
export type Held = { value: Numeric; slots: Posting }

/**
 * Neighbouring numbers and who holds them: pairs of value and slot in ascending order of values, in flat memory,
 * because reading a part of a segment is most of what a range costs. Of a segment for one value only, nothing but
 * that value is kept.
 */
export class Segment {
  /** Ascending; equal ones as often as they are held. */
  values: Numeric[] = []
  /** The slots that hold a value of this segment or of a later one. The owner of the segments adds to it. */
  readonly andAbove: Bitset
  /** The slots that hold a value of this segment, once `keepOwn` was called. */
  own: Bitset | null = null
  readonly #size: number
  #slots = new Uint16Array(8)
  #isForOne = false

  /**
   * @param size of the block
   * @param above the slots that hold a value of a later segment
   */
  constructor(size: number, above: Bitset | undefined) {
    this.#size = size
    this.andAbove = above?.slice() ?? bitset(size)
  }

  /** With these values, ascending, at least one. What is long with only one value is for that one only. */
  static of(size: number, above: Bitset | undefined, held: readonly Held[]): Segment {
    const segment = new Segment(size, above)
    for (const { slots } of held) slots.addTo(segment.andAbove)
    const count = held.reduce((sum, { slots }) => sum + slots.count, 0)
    if (held.length === 1 && count > size / 32) {
      segment.values.push(held[0]!.value)
      segment.keepOnlyOne()
      return segment
    }
    segment.#slots = new Uint16Array(count)
    for (const { value, slots } of held) {
      slots.forEach((slot) => {
        segment.#slots[segment.values.length] = slot
        segment.values.push(value)
      })
    }
    return segment
  }

  get least(): Numeric {
    return this.values[0]!
  }

  /** Whether it has come to be dearer to read than a few bitsets. Never for a segment of one value. */
  get isLong(): boolean {
    return this.values.length > this.#size / 16
  }

  takes(value: Numeric): boolean {
    return !this.#isForOne || this.values[0] === value
  }

  add(value: Numeric, slot: number): void {
    if (this.own !== null) setBit(this.own, slot)
    if (this.#isForOne) return
    const count = this.values.length
    if (count === this.#slots.length) this.#grow()
    const at = countBelow(this.values, value, true)
    if (at === count) this.values.push(value)
    else {
      this.values.splice(at, 0, value)
      this.#slots.copyWithin(at + 1, at, count)
    }
    this.#slots[at] = slot
  }

  /** `target ∪=` the slots of the values from position `from` to before `to`. */
  addPart(target: Bitset, from: number, to = this.values.length): void {
    const slots = this.#slots
    for (let n = from; n < to; n++) setBit(target, slots[n]!)
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

  /** Where to cut: near the middle, between two different values. 0 where all are equal. */
  middle(): number {
    const { values } = this
    const half = values[values.length >> 1]!
    const before = countBelow(values, half, false)
    const behind = countBelow(values, half, true)
    const isNearer = behind - values.length / 2 < values.length / 2 - before
    return behind < values.length && (before === 0 || isNearer) ? behind : before
  }

  /** From now on for the only value that it holds. */
  keepOnlyOne(): void {
    this.values = [this.values[0]!]
    this.#slots = new Uint16Array(0)
    this.#isForOne = true
  }

  /** Takes the values from a position on away, into a new segment. `above` is what comes behind it. */
  cutOff(from: number, above: Bitset | undefined): Segment {
    const upper = new Segment(this.#size, above)
    const lower = this.values.slice(0, from)
    upper.values = this.values.slice(from)
    upper.#slots = this.#slots.slice(from, this.values.length)
    upper.addPart(upper.andAbove, 0)
    this.values = lower
    this.#slots = this.#slots.slice(0, from)
    if (this.own !== null) {
      for (const half of [this, upper]) {
        half.own = bitset(this.#size)
        half.addPart(half.own, 0)
      }
    }
    return upper
  }

  #grow(): void {
    const slots = new Uint16Array(Math.max(8, this.#slots.length * 2))
    slots.set(this.#slots)
    this.#slots = slots
  }
}
