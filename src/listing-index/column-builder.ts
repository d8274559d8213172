import type { Scalar } from '../filter-spec/scalar.ts'
import { addAll, type Bitset, bitset, setBit } from './bitset.ts'
import { type ColumnData, isDense, isLess, type Numeric, type RangeData } from './column.ts'

/** More than one number per slot ever needs; bounds the work where slots hold hundreds. */
const MAX_GROUPS = 256

/** Ranges of fewer slots are found value by value. */
const MIN_RANGE_SLOTS = 1024

/** Collects pairs of value and slot, and sorts them at the end. Values of a slot come in a row. */
export class ColumnBuilder {
  readonly #present: Bitset
  #isMultiValued = false
  #last = -1
  /** In order of arrival. */
  readonly #numberOf = new Map<Scalar, number>()
  /** Last slot per value. */
  readonly #newest: number[] = []
  /** The pairs. */
  readonly #numbers: number[] = []
  readonly #slots: number[] = []

  constructor(slots: number) {
    this.#present = bitset(slots)
  }

  /** `null` for an array or object: present, but equal to nothing. */
  add(slot: number, value: Scalar | null): void {
    if (slot === this.#last) this.#isMultiValued = true
    setBit(this.#present, slot)
    this.#last = slot
    if (value === null) return
    const number = this.#numberFor(value)
    if (this.#newest[number] === slot) return
    this.#newest[number] = slot
    this.#numbers.push(number)
    this.#slots.push(slot)
  }

  /** Of value and slot. */
  get pairs(): number {
    return this.#slots.length
  }

  finish(slots: number): ColumnData {
    const { numbers, texts, order } = this.#sorted()
    const postings = this.#pack(slots, order)
    const hasRanges = slots >= MIN_RANGE_SLOTS && numbers.length > 0
    const ranges = hasRanges ? this.#ranges(slots, numbers.length, postings) : null
    return {
      present: this.#present.slice(0, bitset(slots).length),
      isMultiValued: this.#isMultiValued,
      numbers,
      texts,
      ...postings,
      ranges,
    }
  }

  #numberFor(value: Scalar): number {
    const number = this.#numberOf.get(value)
    if (number !== undefined) return number
    this.#numberOf.set(value, this.#newest.length)
    return this.#newest.push(-1) - 1
  }

  /** `order`: by number of arrival, the place in the dictionary. */
  #sorted(): Pick<ColumnData, 'numbers' | 'texts'> & { order: Uint32Array } {
    const texts: string[] = []
    const numerics: Numeric[] = []
    for (const value of this.#numberOf.keys()) {
      if (typeof value === 'string') texts.push(value)
      else numerics.push(value)
    }
    const numbers = ascending(numerics)
    const order = new Uint32Array(this.#numberOf.size)
    for (let n = 0; n < numbers.length; n++) order[this.#numberOf.get(numbers[n]!)!] = n
    for (let n = 0; n < texts.length; n++) order[this.#numberOf.get(texts[n]!)!] = numbers.length + n
    return { numbers, texts, order }
  }

  #pack(slots: number, order: Uint32Array): Postings {
    const pairs = this.#numbers.length
    const counts = new Uint32Array(order.length)
    for (let n = 0; n < pairs; n++) counts[order[this.#numbers[n]!]!]!++
    const starts = new Uint32Array(order.length)
    const words = bitset(slots).length
    let setWords = 0
    let room = 0
    for (let n = 0; n < counts.length; n++) {
      const dense = isDense(counts[n]!, slots)
      starts[n] = dense ? setWords : room
      if (dense) setWords += words
      else room += counts[n]!
    }
    const lists = new Uint16Array(room)
    const sets = new Int32Array(setWords)
    const nexts = starts.slice()
    for (let n = 0; n < pairs; n++) {
      const number = order[this.#numbers[n]!]!
      const slot = this.#slots[n]!
      if (isDense(counts[number]!, slots)) sets[starts[number]! + (slot >> 5)]! |= 1 << (slot & 31)
      else lists[nexts[number]!++] = slot
    }
    return { counts, starts, lists, sets }
  }

  #ranges(slots: number, numbers: number, postings: Postings): RangeData {
    const firsts = groupStarts(slots, postings.counts.subarray(0, numbers))
    const sets: Bitset[] = []
    let above = bitset(slots)
    for (let group = firsts.length - 2; group >= 0; group--) {
      const set = this.#isMultiValued ? bitset(slots) : above.slice()
      for (let n = firsts[group]!; n < firsts[group + 1]!; n++) addSlots(set, postings, n, slots)
      sets.unshift(set)
      above = set
    }
    return { firsts, sets }
  }
}

type Postings = Pick<ColumnData, 'counts' | 'starts' | 'lists' | 'sets'>

/** Equally long groups; a frequent value has one of its own. */
function groupStarts(slots: number, counts: Uint32Array): Uint32Array {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const most = Math.max(slots / 16, (2 * total) / MAX_GROUPS)
  const firsts: number[] = []
  let length = most
  for (let n = 0; n < counts.length; n++) {
    if (length + counts[n]! > most) {
      firsts.push(n)
      length = 0
    }
    length += counts[n]!
  }
  return Uint32Array.of(...firsts, counts.length)
}

function addSlots(target: Bitset, { counts, starts, lists, sets }: Postings, n: number, slots: number): void {
  const start = starts[n]!
  if (isDense(counts[n]!, slots)) addAll(target, sets, start)
  else for (let at = start; at < start + counts[n]!; at++) setBit(target, lists[at]!)
}

/** Doubles have an array of their own unless there is a bigint among them. */
export function ascending(numbers: readonly Numeric[]): Float64Array | readonly Numeric[] {
  for (let n = 0; n < numbers.length; n++)
    if (typeof numbers[n] === 'bigint')
      return numbers.toSorted((a, b) => (isLess(a, b) ? -1 : isLess(b, a) ? 1 : 0))
  return new Float64Array(numbers as readonly number[]).sort()
}
