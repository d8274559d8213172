import { addAll, type Bitset, bitset, forEachBit, setBit } from './bitset.ts'

/** From a 32nd of the slots on, a bitset is used: at most twice the size of the list. */
export const isDense = (count: number, slots: number): boolean => count * 32 >= slots

/** One value's slots in the smallest form: number, list or bitset. Slots come once, and none is removed. */
export class Posting {
  count = 1
  readonly #slots: number
  #last: number
  #list: Uint16Array | null = null
  /** Its part of a list that may be shared. */
  #start = 0
  #room = 0
  #bits: Bitset | null = null

  /** At most 65,536 slots. */
  constructor(slots: number, first: number) {
    this.#slots = slots
    this.#last = first
  }

  /** Uses part of a list, which must not change; at least one slot. */
  static ofList(slots: number, list: Uint16Array, start: number, count: number): Posting {
    const posting = new Posting(slots, list[start]!)
    if (count === 1) return posting
    posting.#list = list
    posting.#start = start
    posting.#room = count
    posting.count = count
    return posting
  }

  /** Takes ownership of `bits`. */
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

  /** `null` where there is no set. Do not write to it. */
  get bits(): Bitset | null {
    return this.#bits
  }

  forEach(visit: (slot: number) => void): void {
    if (this.#bits !== null) forEachBit(this.#bits, visit)
    else if (this.#list === null) visit(this.#last)
    else for (let n = 0; n < this.count; n++) visit(this.#list[this.#start + n]!)
  }

  /** Writes the slots to the start of `target`; returns their count. */
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
