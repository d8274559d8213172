import { addAll, type Bitset, bitset, forEachBit, setBit } from './bitset.ts'

/** Whether so many slots of a block are kept as a bitset: past a 32nd of them, twice the size of the list. */
export const isDense = (count: number, slots: number): boolean => count * 32 >= slots

/**
 * The slots of a block that hold one value: a single number, then a list, then a bitset, whichever is smallest
 * for how many there are. A million values that occur once each therefore cost a million small objects, and no value
 * costs more than a bit per slot. Slots only ever come, each once.
 */
export class Posting {
  /** How many slots hold the value. */
  count = 1
  readonly #slots: number
  #last: number
  #list: Uint16Array | null = null
  /** Where its part of the list begins, which others may have parts of, and how much room is in it. */
  #start = 0
  #room = 0
  #bits: Bitset | null = null

  /** @param slots size of the block, at most 65,536 */
  constructor(slots: number, first: number) {
    this.#slots = slots
    this.#last = first
  }

  /** Those that stand in a part of a list, which is not written to any more; at least one. */
  static ofList(slots: number, list: Uint16Array, start: number, count: number): Posting {
    const posting = new Posting(slots, list[start]!)
    if (count === 1) return posting
    posting.#list = list
    posting.#start = start
    posting.#room = count
    posting.count = count
    return posting
  }

  /** The members of a set, which it keeps. */
  static ofBits(slots: number, bits: Bitset, count: number): Posting {
    const posting = new Posting(slots, 0)
    posting.#bits = bits
    posting.count = count
    return posting
  }

  add(slot: number): void {
    if (this.#bits === null) this.#makeRoom()
    if (this.#bits !== null) setBit(this.#bits, slot)
    else this.#list![this.#start + this.count] = slot
    this.count++
  }

  addTo(target: Bitset): void {
    if (this.#bits !== null) addAll(target, this.#bits)
    else if (this.#list === null) setBit(target, this.#last)
    else for (let n = 0; n < this.count; n++) setBit(target, this.#list[this.#start + n]!)
  }

  /** The slots as a set, where they are kept as one. Not to be written to. */
  get bits(): Bitset | null {
    return this.#bits
  }

  /** Calls `visit` with each slot once. */
  forEach(visit: (slot: number) => void): void {
    if (this.#bits !== null) forEachBit(this.#bits, visit)
    else if (this.#list === null) visit(this.#last)
    else for (let n = 0; n < this.count; n++) visit(this.#list[this.#start + n]!)
  }

  /** Writes the slots to the beginning of `target`; returns how many they are. */
  copyTo(target: Uint16Array): number {
    let count = 0
    if (this.#list !== null) {
      for (; count < this.count; count++) target[count] = this.#list[this.#start + count]!
    } else {
      this.forEach((slot) => {
        target[count++] = slot
      })
    }
    return count
  }

  /** Bytes of the slots alone. */
  get byteLength(): number {
    return this.#bits?.byteLength ?? this.#room * Uint16Array.BYTES_PER_ELEMENT
  }

  #makeRoom(): void {
    if (this.#list !== null && this.count < this.#room) return
    if (isDense(this.count, this.#slots)) this.#turnDense()
    else this.#grow()
  }

  #turnDense(): void {
    const bits = bitset(this.#slots)
    this.addTo(bits)
    this.#bits = bits
    this.#list = null
  }

  #grow(): void {
    const list = new Uint16Array(Math.max(FIRST_LIST, this.count * 2))
    if (this.#list === null) list[0] = this.#last
    else list.set(this.#list.subarray(this.#start, this.#start + this.count))
    this.#list = list
    this.#start = 0
    this.#room = list.length
  }
}

const FIRST_LIST = 4
