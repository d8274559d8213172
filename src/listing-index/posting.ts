import { addAll, type Bitset, bitset, forEachBit, setBit } from './bitset.ts'

/**
 * The slots of a block that hold one value: a single number, then a list, then a bitset, whichever is smallest
 * for how many there are. A million values that occur once each therefore cost a million small objects, and no value
 * costs more than a bit per slot. Slots only ever come, each once or several times in a row.
 */
export class Posting {
  /** How many slots hold the value. */
  count = 1
  readonly #slots: number
  #last: number
  #list: Uint16Array | null = null
  #bits: Bitset | null = null

  /** @param slots size of the block, at most 65,536 */
  constructor(slots: number, first: number) {
    this.#slots = slots
    this.#last = first
  }

  /** `false` when the slot was also the last that was added. */
  add(slot: number): boolean {
    if (slot === this.#last) return false
    if (this.#bits === null) this.#makeRoom()
    if (this.#bits !== null) setBit(this.#bits, slot)
    else this.#list![this.count] = slot
    this.#last = slot
    this.count++
    return true
  }

  addTo(target: Bitset): void {
    if (this.#bits !== null) addAll(target, this.#bits)
    else if (this.#list === null) setBit(target, this.#last)
    else for (let n = 0; n < this.count; n++) setBit(target, this.#list[n]!)
  }

  /** The slots as a set, where they are kept as one. Not to be written to. */
  get bits(): Bitset | null {
    return this.#bits
  }

  /** Calls `visit` with each slot once. */
  forEach(visit: (slot: number) => void): void {
    if (this.#bits !== null) forEachBit(this.#bits, visit)
    else if (this.#list === null) visit(this.#last)
    else for (let n = 0; n < this.count; n++) visit(this.#list[n]!)
  }

  /** Bytes of the slots alone. */
  get byteLength(): number {
    return this.#bits?.byteLength ?? this.#list?.byteLength ?? 0
  }

  #makeRoom(): void {
    if (this.#list === null) {
      this.#list = new Uint16Array(FIRST_LIST)
      this.#list[0] = this.#last
    }
    if (this.count < this.#list.length) return
    if (this.count * 4 >= this.#slots / 8) this.#turnDense(this.#list)
    else this.#list = grown(this.#list)
  }

  #turnDense(list: Uint16Array): void {
    const bits = bitset(this.#slots)
    for (const slot of list) setBit(bits, slot)
    this.#bits = bits
    this.#list = null
  }
}

const FIRST_LIST = 4

const grown = (list: Uint16Array): Uint16Array => {
  const next = new Uint16Array(list.length * 2)
  next.set(list)
  return next
}
