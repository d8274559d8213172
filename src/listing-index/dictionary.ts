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

  /** `false` where the slot holds the value already. No slot comes again after another has come for that value. */
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

  /** Calls `visit` with every value and the new place of each of its slots; `places` has `-1` for one left behind. */
  forEachMoved(places: Int32Array, visit: (value: Scalar, place: number) => void): void {
    for (const [value, posting] of this.#postings) {
      posting.forEach((slot) => {
        if (places[slot]! >= 0) visit(value, places[slot]!)
      })
    }
  }
}
