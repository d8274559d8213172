import { type Bitset, hasBit, highestBits } from './bitset.ts'
import { comparePlaces, type Place } from './place.ts'

/** Listings in order are free. A late one makes a list: then a search and a move of at most 128 KiB each. */
export class SlotOrder {
  readonly #slots: number
  readonly #placeOf: (slot: number) => Place
  #list: Uint16Array | null = null
  #length: number

  /** @param length slots in use, each newer than the one before */
  constructor(slots: number, placeOf: (slot: number) => Place, length = 0) {
    this.#slots = slots
    this.#placeOf = placeOf
    this.#length = length
  }

  /** Whether the order is that of the slots. */
  get isRising(): boolean {
    return this.#list === null
  }

  /** Whether it is newer than all here, dead ones included. */
  isNewest(place: Place): boolean {
    return this.#length === 0 || comparePlaces(place, this.#placeOf(this.#at(this.#length - 1))) > 0
  }

  /** Replaces a dead slot of the same place. */
  add(slot: number): void {
    const place = this.#placeOf(slot)
    if (this.isNewest(place)) this.#append(slot)
    else this.#insert(slot, place)
  }

  /** Includes dead slots. */
  countOlder(place: Place): number {
    let low = 0
    let high = this.#length
    while (low < high) {
      const middle = (low + high) >> 1
      if (comparePlaces(this.#placeOf(this.#at(middle)), place) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Newest first, without the first `skip`, at most `take`. */
  newestFirst(set: Bitset, skip: number, take: number): number[] {
    if (this.#list === null) return highestBits(set, skip, take)
    const found: number[] = []
    let toSkip = skip
    for (let n = this.#length - 1; n >= 0 && found.length < take; n--) {
      const slot = this.#list[n]!
      if (!hasBit(set, slot)) continue
      if (toSkip > 0) toSkip--
      else found.push(slot)
    }
    return found
  }

  countNotOlder(set: Bitset, place: Place): number {
    let count = 0
    for (let n = this.countOlder(place); n < this.#length; n++) if (hasBit(set, this.#at(n))) count++
    return count
  }

  /** Includes dead slots that were not replaced. */
  oldestFirst(): number[] {
    return Array.from({ length: this.#length }, (_, n) => this.#at(n))
  }

  #insert(slot: number, place: Place): void {
    const list = this.#asList()
    const position = this.countOlder(place)
    if (position === this.#length || comparePlaces(this.#placeOf(list[position]!), place) !== 0) {
      list.copyWithin(position + 1, position, this.#length)
      this.#length++
    }
    list[position] = slot
  }

  #append(slot: number): void {
    if (this.#list !== null) this.#list[this.#length] = slot
    this.#length++
  }

  #at(position: number): number {
    return this.#list === null ? position : this.#list[position]!
  }

  #asList(): Uint16Array {
    this.#list ??= Uint16Array.from({ length: this.#slots }, (_, n) => n)
    return this.#list
  }
}
