import type { JsonValue } from '../domain/json.ts'
import type { Scalar } from '../filter-spec/criteria.ts'
import { toScalar } from '../filter-spec/scalar.ts'
import { type Bitset, bitset, hasBit, setBit } from './bitset.ts'
import { Dictionary } from './dictionary.ts'
import { RangeIndex } from './range-index.ts'

/**
 * What one path finds in the listings of one block. All filters of that path share it. All that is found in a slot
 * comes in a row; slots go when the block is rebuilt.
 */
export class Column {
  /** The slots where the path finds anything but null: arrays and objects count, though nothing equals them. */
  readonly present: Bitset
  presentCount = 0
  readonly values: Dictionary
  /** `null` while no listing holds a number. */
  ranges: RangeIndex | null = null
  readonly #slots: number
  #several = false
  #last = -1

  /** @param slots size of the block */
  constructor(slots: number) {
    this.#slots = slots
    this.present = bitset(slots)
    this.values = new Dictionary(slots)
  }

  /** The path found this, which is not `null`, in the listing at `slot`: once for each value that it finds there. */
  add(slot: number, value: JsonValue): void {
    if (slot === this.#last) this.#allowSeveral()
    else this.#addPresent(slot)
    const scalar = toScalar(value)
    if (scalar !== null) this.#addScalar(scalar, slot)
  }

  /** Adds everything to `target` at each slot's new place; `-1` leaves it behind. */
  copyTo(target: Column, places: Int32Array): void {
    if (this.#several) target.#allowSeveral()
    places.forEach((place, slot) => {
      if (place >= 0 && hasBit(this.present, slot)) target.#addPresent(place)
    })
    this.values.forEachMoved(places, (value, place) => {
      target.#addScalar(value, place)
    })
  }

  #addPresent(slot: number): void {
    setBit(this.present, slot)
    this.presentCount++
    this.#last = slot
  }

  #addScalar(value: Scalar, slot: number): void {
    const isNew = this.values.add(value, slot)
    if (!isNew || typeof value === 'string') return
    this.ranges ??= new RangeIndex(this.#slots, this.#several)
    this.ranges.add(value, slot)
  }

  #allowSeveral(): void {
    if (this.#several) return
    this.#several = true
    this.ranges?.allowSeveral()
  }
}
