import type { Scalar } from '../filter-spec/criteria.ts'
import { type PackedPostings, packPostings, postingIn } from './packed-postings.ts'
import { Posting } from './posting.ts'
import { SlotLog } from './slot-log.ts'

/** `values` in the order of the postings. */
export type DictionaryParts = PackedPostings & { values: Scalar[] }

/** So few are added without a look at every value. */
const FEW = 256

/** Additions are only logged; the next read sorts them at once, in a tenth of the time for a whole block. */
export class Dictionary {
  readonly #slots: number
  /** Values are numbered in order of arrival. */
  readonly #numbers = new Map<Scalar, number>()
  /** Last slot per value number. */
  #newest: number[] | null = null
  readonly #log = new SlotLog()
  /** Pairs of value and slot that are sorted. */
  #sorted = 0
  #packed: PackedPostings
  /** By number: postings changed since packing. */
  readonly #changed = new Map<number, Posting>()

  constructor(slots: number) {
    this.#slots = slots
    this.#packed = packPostings(slots, 0, () => {})
  }

  /** Takes ownership of the parts; do not add to their slots again. */
  static of(slots: number, { values, ...packed }: DictionaryParts): Dictionary {
    const dictionary = new Dictionary(slots)
    for (let number = 0; number < values.length; number++) dictionary.#numbers.set(values[number]!, number)
    dictionary.#packed = packed
    dictionary.#sorted = packed.counts.reduce((sum, count) => sum + count, 0)
    return dictionary
  }

  /** `false` where the slot has the value already. Slots of one value must not return after another slot. */
  add(value: Scalar, slot: number): boolean {
    const known = this.#numbers.get(value)
    const number = known ?? this.#numbers.size
    this.#newest ??= new Array<number>(number)
    if (known === undefined) this.#numbers.set(value, number)
    else if (this.#newest[number] === slot) return false
    this.#newest[number] = slot
    this.#log.add(number, slot)
    return true
  }

  get(value: Scalar): Posting | undefined {
    const number = this.#numbers.get(value)
    if (number === undefined) return undefined
    this.settle()
    return this.#posting(number)
  }

  /** Postings of the values that occur, by the shorter of both lists. */
  among(values: ReadonlySet<Scalar>): Posting[] {
    this.settle()
    const found: Posting[] = []
    if (values.size <= this.#numbers.size) {
      for (const value of values) {
        const number = this.#numbers.get(value)
        if (number !== undefined) found.push(this.#posting(number))
      }
    } else {
      for (const [value, number] of this.#numbers) if (values.has(value)) found.push(this.#posting(number))
    }
    return found
  }

  *entries(): Generator<[value: Scalar, posting: Posting]> {
    this.settle()
    for (const [value, number] of this.#numbers) yield [value, this.#posting(number)]
  }

  /** `places` holds the new slot, or `-1` for a dropped one. */
  forEachMoved(places: Int32Array, visit: (value: Scalar, place: number) => void): void {
    for (const [value, posting] of this.entries()) {
      posting.forEach((slot) => {
        if (places[slot]! >= 0) visit(value, places[slot]!)
      })
    }
  }

  settle(): void {
    const noted = this.#log.length
    if (noted === 0) return
    if (noted <= Math.max(FEW, this.#sorted / 8)) this.#addOneByOne()
    else this.pack()
  }

  /** As `settle`, and moves everything to the most compact form. */
  pack(): void {
    if (this.#log.length === 0 && this.#changed.size === 0) return
    this.#packed = packPostings(this.#slots, this.#numbers.size, (visit) => {
      this.#forEachSorted(visit)
      this.#log.forEach(visit)
    })
    this.#changed.clear()
    this.#clearLog()
  }

  parts(): DictionaryParts {
    this.pack()
    return { values: [...this.#numbers.keys()], ...this.#packed }
  }

  #posting(number: number): Posting {
    return this.#changed.get(number) ?? postingIn(this.#packed, number, this.#slots)
  }

  #addOneByOne(): void {
    const known = this.#packed.counts.length
    this.#log.forEach((number, slot) => {
      if (number < known || this.#changed.has(number)) {
        const posting = this.#posting(number)
        posting.add(slot)
        this.#changed.set(number, posting)
      } else this.#changed.set(number, new Posting(this.#slots, slot))
    })
    this.#clearLog()
  }

  #forEachSorted(visit: Visit): void {
    for (let number = 0; number < this.#packed.counts.length; number++) {
      if (!this.#changed.has(number)) visitSlots(number, this.#posting(number), visit)
    }
    for (const [number, posting] of this.#changed) visitSlots(number, posting, visit)
  }

  #clearLog(): void {
    this.#sorted += this.#log.length
    this.#log.clear()
  }
}

type Visit = (number: number, slot: number) => void

function visitSlots(number: number, posting: Posting, visit: Visit): void {
  posting.forEach((slot) => {
    visit(number, slot)
  })
}
