import type { Bound, Scalar } from '../filter-spec/scalar.ts'
import { firstFrom } from './binary-search.ts'
import { addAll, addAllExcept, type Bitset, bitset, countCommon, countIn, setBit } from './bitset.ts'

export type Numeric = number | bigint

/** What one path finds in a segment. Plain data that threads can exchange. */
export type ColumnData = {
  /** Slots with any value but null, arrays and objects included. */
  present: Bitset
  /** Ascending: the first values of the dictionary. The texts follow. */
  numbers: ArrayLike<Numeric>
  texts: readonly string[]
  /** Slots per value. */
  counts: Uint32Array
  /** Per value: in `sets` where it is dense, else in `lists`. One object per value would take most of the memory. */
  starts: Uint32Array
  lists: Uint16Array
  sets: Bitset
  /** Whether a slot has several values. */
  isMultiValued: boolean
  /** `null` where slots or numbers are few. */
  ranges: RangeData | null
}

/** The numbers in groups of about a 16th of the slots: smaller groups take more memory and save little time. */
export type RangeData = {
  /** First number of each group; one more at the end of the numbers. */
  firsts: Uint32Array
  /**
   * Per group, the slots of its numbers and of all that are greater: an interval is the difference of two. Where
   * slots are multi-valued, which may lie on both sides of an interval only, the slots of the group alone.
   */
  sets: readonly Bitset[]
}

/** From a 32nd of the slots on, a bitset is used: at most twice the size of the list. */
export const isDense = (count: number, slots: number): boolean => count * 32 >= slots

export class Column {
  readonly data: ColumnData
  readonly #slots: number
  readonly #texts = new Map<string, number>()

  constructor(slots: number, data: ColumnData) {
    this.#slots = slots
    this.data = data
    for (let n = 0; n < data.texts.length; n++) this.#texts.set(data.texts[n]!, data.numbers.length + n)
  }

  get size(): number {
    return this.data.counts.length
  }

  valueAt(n: number): Scalar {
    const { numbers, texts } = this.data
    return n < numbers.length ? numbers[n]! : texts[n - numbers.length]!
  }

  /** Slots with one of the values, by the shorter of both lists. As `within`. */
  having(values: ReadonlySet<Scalar>, target: Bitset): Bitset {
    if (values.size === 1) {
      const only = this.#find([...values][0]!)
      return only === -1 ? target : (this.#setOf(only) ?? this.#addValues(target, only, only + 1))
    }
    if (values.size <= this.size)
      for (const value of values) {
        const n = this.#find(value)
        if (n !== -1) this.#addValues(target, n, n + 1)
      }
    else
      for (let n = 0; n < this.size; n++) if (values.has(this.valueAt(n))) this.#addValues(target, n, n + 1)
    return target
  }

  /** Slots with a value that is accepted. As `within`. */
  accepted(accepts: (value: Scalar) => boolean, target: Bitset): Bitset {
    for (let n = 0; n < this.size; n++) if (accepts(this.valueAt(n))) this.#addValues(target, n, n + 1)
    return target
  }

  /** `target` must be empty. Returns it, or a set that must not be written to. */
  within(low: Bound | null, high: Bound | null, target: Bitset): Bitset {
    const { numbers, isMultiValued, ranges } = this.data
    const from = low === null ? 0 : countBelow(numbers, low.value, !low.inclusive)
    const to = high === null ? numbers.length : countBelow(numbers, high.value, high.inclusive)
    if (ranges === null) return this.#addValues(target, from, to)
    const { firsts, sets } = ranges
    const first = countBelow(firsts, from, false)
    const last = countBelow(firsts, to, true) - 1
    if (first >= last) return this.#addValues(target, from, to)
    if (!isMultiValued && firsts[first] === from && last === sets.length) return sets[first]!
    if (isMultiValued) for (let n = first; n < last; n++) addAll(target, sets[n]!)
    else if (last === sets.length) addAll(target, sets[first]!)
    else addAllExcept(target, sets[first]!, sets[last]!)
    this.#addValues(target, from, firsts[first]!)
    return this.#addValues(target, firsts[last]!, to)
  }

  /** Calls `add` with how many matches have each value in words, and returns how many are present. */
  countValues(
    matches: Bitset,
    textOf: (value: Scalar) => string,
    add: (text: string, count: number) => void,
  ): number {
    for (let n = 0; n < this.size; n++) {
      const count = this.#countOf(n, matches)
      if (count > 0) add(textOf(this.valueAt(n)), count)
    }
    if (this.data.isMultiValued) this.#countTwins(matches, textOf, add)
    return countCommon(this.data.present, matches)
  }

  /** A slot with a number and its text has one value in words. */
  #countTwins(
    matches: Bitset,
    textOf: (value: Scalar) => string,
    add: (text: string, count: number) => void,
  ): void {
    const { numbers } = this.data
    if (this.#texts.size === 0) return
    for (let n = 0; n < numbers.length; n++) {
      const text = textOf(numbers[n]!)
      const twin = this.#texts.get(text)
      if (twin === undefined) continue
      const [one, other] = [n, twin].map((at) => this.#addValues(bitset(this.#slots), at, at + 1))
      const both = one!.map((word, at) => word & other![at]!)
      const common = countCommon(both, matches)
      if (common > 0) add(text, -common)
    }
  }

  #countOf(n: number, matches: Bitset): number {
    const { counts, starts, lists } = this.data
    const set = this.#setOf(n)
    return set === null
      ? countIn(matches, lists, starts[n]!, starts[n]! + counts[n]!)
      : countCommon(set, matches)
  }

  /** `null` for a value that is kept as a list. */
  #setOf(n: number): Bitset | null {
    const { counts, starts, sets, present } = this.data
    return isDense(counts[n]!, this.#slots) ? sets.subarray(starts[n]!, starts[n]! + present.length) : null
  }

  /** -1 for a value that does not occur. */
  #find(value: Scalar): number {
    if (typeof value === 'string') return this.#texts.get(value) ?? -1
    const { numbers } = this.data
    const at = countBelow(numbers, value, false)
    return at < numbers.length && !isLess(value, numbers[at]!) ? at : -1
  }

  /** Of the values in `[from, to)`. */
  #addValues(target: Bitset, from: number, to: number): Bitset {
    const { counts, starts, lists, sets } = this.data
    for (let n = from; n < to; n++) {
      if (isDense(counts[n]!, this.#slots)) addAll(target, sets, starts[n]!)
      else for (let at = starts[n]!, end = at + counts[n]!; at < end; at++) setBit(target, lists[at]!)
    }
    return target
  }
}

/** Exact. Doubles have their own path, so that one bigint does not slow down the other comparisons. */
export const isLess = (a: Numeric, b: Numeric): boolean =>
  typeof a === 'number' && typeof b === 'number' ? a < b : lessMixed(a, b)

const lessMixed = (a: Numeric, b: Numeric): boolean => a < b

/** How many of the ascending values are less than `bound`, or equal if `orEqual`. */
function countBelow(values: ArrayLike<Numeric>, bound: Numeric, orEqual: boolean): number {
  return firstFrom(0, values.length, (n) =>
    orEqual ? isLess(bound, values[n]!) : !isLess(values[n]!, bound),
  )
}
