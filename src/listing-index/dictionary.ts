import type { Scalar } from '../filter-spec/criteria.ts'
import { Posting } from './posting.ts'

/** Which slots of a block hold which value. */
export class Dictionary {
  readonly #slots: number
  readonly #postings = new Map<Scalar, Posting>()

  /** @param slots size of the block */
  constructor(slots: number) {
    this.#slots = slots
  }

  /** `false` where the slot holds the value already. A value's slots come in ascending order. */
  add(value: Scalar, slot: number): boolean {
    const posting = this.#postings.get(value)
    if (posting !== undefined) return posting.add(slot)
    this.#postings.set(value, new Posting(this.#slots, slot))
    return true
  }

  get(value: Scalar): Posting | undefined {
    return this.#postings.get(value)
  }

  /** The postings of those values that occur, by whichever of the two is shorter to go through. */
  among(values: ReadonlySet<Scalar>): Posting[] {
    const found: Posting[] = []
    if (values.size <= this.#postings.size) {
      for (const value of values) {
        const posting = this.#postings.get(value)
        if (posting !== undefined) found.push(posting)
      }
    } else {
      for (const [value, posting] of this.#postings) if (values.has(value)) found.push(posting)
    }
    return found
  }

  /** Every value with the new places of its slots, ascending. `places[slot]` is `-1` for a slot left behind. */
  *moved(places: Int32Array): Generator<[value: Scalar, places: number[]]> {
    for (const [value, posting] of this.#postings) yield [value, placesOf(posting, places)]
  }
}

const placesOf = (posting: Posting, places: Int32Array): number[] => {
  const moved: number[] = []
  let ascending = true
  posting.forEach((slot) => {
    const place = places[slot]!
    if (place < 0) return
    if (moved.length > 0 && place < moved[moved.length - 1]!) ascending = false
    moved.push(place)
  })
  return ascending ? moved : moved.sort((a, b) => a - b)
}
