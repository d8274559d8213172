import type { Scalar } from '../filter-spec/criteria.ts'
import { type Bitset, bitset, hasBit, setBit } from './bitset.ts'
import { Dictionary, type DictionaryParts } from './dictionary.ts'
import { RangeIndex, type RangeIndexParts } from './range-index.ts'

export type ColumnParts = {
  present: Bitset
  presentCount: number
  several: boolean
  values: DictionaryParts
  /** `null` without numbers. */
  ranges: RangeIndexParts | null
}

/** What one path finds in a block, for all its filters. Values of a slot come in a row. */
export class Column {
  /** Slots with any value but null, arrays and objects included. */
  readonly present: Bitset
  presentCount = 0
  readonly values: Dictionary
  readonly #slots: number
  #several = false
  #last = -1
  #hasNumbers = false
  /** Built on first use, which is much faster than value by value. */
  #ranges: RangeIndex | null = null

  constructor(slots: number, present = bitset(slots), values = new Dictionary(slots)) {
    this.#slots = slots
    this.present = present
    this.values = values
  }

  /** Takes ownership of the parts; do not add to their slots again. */
  static of(slots: number, { present, presentCount, several, values, ranges }: ColumnParts): Column {
    const column = new Column(slots, present, Dictionary.of(slots, values))
    column.presentCount = presentCount
    column.#several = several
    column.#hasNumbers = ranges !== null
    column.#ranges = ranges === null ? null : RangeIndex.restore(slots, ranges)
    return column
  }

  /** `null` without numbers. */
  get ranges(): RangeIndex | null {
    if (this.#hasNumbers) this.#ranges ??= RangeIndex.of(this.#slots, this.#several, this.values)
    return this.#ranges
  }

  /** Adds one value found at `slot`; `null` for an array or object. */
  add(slot: number, value: Scalar | null): void {
    if (slot === this.#last) this.#allowSeveral()
    else this.#addPresent(slot)
    if (value !== null) this.#addScalar(value, slot)
  }

  settle(): void {
    this.values.pack()
    void this.ranges
  }

  /** Copies to each slot's new place; `-1` drops it. */
  copyTo(target: Column, places: Int32Array): void {
    if (this.#several) target.#allowSeveral()
    places.forEach((place, slot) => {
      if (place >= 0 && hasBit(this.present, slot)) target.#addPresent(place)
    })
    this.values.forEachMoved(places, (value, place) => {
      target.#addScalar(value, place)
    })
  }

  parts(): ColumnParts {
    return {
      present: this.present,
      presentCount: this.presentCount,
      several: this.#several,
      values: this.values.parts(),
      ranges: this.ranges?.parts() ?? null,
    }
  }

  #addPresent(slot: number): void {
    setBit(this.present, slot)
    this.presentCount++
    this.#last = slot
  }

  #addScalar(value: Scalar, slot: number): void {
    const isNew = this.values.add(value, slot)
    if (!isNew || typeof value === 'string') return
    this.#hasNumbers = true
    this.#ranges?.add(value, slot)
  }

  #allowSeveral(): void {
    if (this.#several) return
    this.#several = true
    this.#ranges?.allowSeveral()
  }
}
