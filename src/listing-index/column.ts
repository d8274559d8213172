import type { Scalar } from '../filter-spec/criteria.ts'
import { type Bitset, bitset, hasBit, setBit } from './bitset.ts'
import { Dictionary, type DictionaryParts } from './dictionary.ts'
import { RangeIndex, type RangeIndexParts } from './range-index.ts'

/** A settled column as plain data. */
export type ColumnParts = {
  present: Bitset
  presentCount: number
  several: boolean
  values: DictionaryParts
  /** `null` while no listing holds a number. */
  ranges: RangeIndexParts | null
}

/**
 * What one path finds in the listings of one block. All filters of that path share it. All that is found in a slot
 * comes in a row; slots go when the block is rebuilt.
 */
export class Column {
  /** The slots where the path finds anything but null: arrays and objects count, though nothing equals them. */
  readonly present: Bitset
  presentCount = 0
  readonly values: Dictionary
  readonly #slots: number
  #several = false
  #last = -1
  #hasNumbers = false
  /** Made when it is first asked for, from all that is here then, which is much faster than one by one. */
  #ranges: RangeIndex | null = null

  /** @param slots size of the block */
  constructor(slots: number, present = bitset(slots), values = new Dictionary(slots)) {
    this.#slots = slots
    this.present = present
    this.values = values
  }

  /** What another column was; it takes the parts over, and slots that it knows must not come again. */
  static of(slots: number, { present, presentCount, several, values, ranges }: ColumnParts): Column {
    const column = new Column(slots, present, Dictionary.of(slots, values))
    column.presentCount = presentCount
    column.#several = several
    column.#hasNumbers = ranges !== null
    column.#ranges = ranges === null ? null : RangeIndex.restore(slots, ranges)
    return column
  }

  /** `null` while no listing holds a number. */
  get ranges(): RangeIndex | null {
    if (this.#hasNumbers) this.#ranges ??= RangeIndex.of(this.#slots, this.#several, this.values)
    return this.#ranges
  }

  /**
   * The path found this in the listing at `slot`: once for each value that it finds there. `null` for an array or an
   * object.
   */
  add(slot: number, value: Scalar | null): void {
    if (slot === this.#last) this.#allowSeveral()
    else this.#addPresent(slot)
    if (value !== null) this.#addScalar(value, slot)
  }

  /** Does now what the first query would have to do. */
  settle(): void {
    this.values.pack()
    void this.ranges
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

  /** The column must not be used any more. */
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
