import type { Item } from '../domain/page.ts'
import { comparePlaces, placeIn } from './place.ts'

/** A copy that was read and has not been taken yet, with the offset of the stretch that it came with. */
type Read = { item: Item; at: number }

/** The copies of one source that were read and have not been taken yet, newest first. */
export class Waiting {
  readonly #rank: number
  /** What is behind `#taken`. */
  #read: Read[] = []
  #taken = 0
  /** Nearly always one of each id. */
  readonly #byId = new Map<string, Item | readonly Item[]>()

  constructor(rank: number) {
    this.#rank = rank
  }

  get head(): Item | undefined {
    return this.#read[this.#taken]?.item
  }

  /** Removes the head and returns it. */
  take(): Item {
    const { item } = this.#read[this.#taken++]!
    const { listingId } = item
    const others = this.of(listingId).filter((other) => other !== item)
    if (others.length === 0) this.#byId.delete(listingId)
    else this.#byId.set(listingId, others)
    return item
  }

  add(items: readonly Item[], at: number): void {
    this.#read = this.#read.slice(this.#taken)
    this.#taken = 0
    for (const item of items) {
      this.#read.push({ item, at })
      const others = this.of(item.listingId)
      this.#byId.set(item.listingId, others.length === 0 ? item : [...others, item])
    }
    this.#read.sort((a, b) => comparePlaces(placeIn(a.item, this.#rank), placeIn(b.item, this.#rank)))
  }

  of(listingId: string): readonly Item[] {
    const waiting = this.#byId.get(listingId)
    if (waiting === undefined) return NONE
    return 'listingId' in waiting ? [waiting] : waiting
  }

  /** The least offset of a stretch that they came with, or `most`. */
  firstAt(most: number): number {
    let first = most
    for (const { at } of this.#read.slice(this.#taken)) first = Math.min(first, at)
    return first
  }
}

const NONE: readonly Item[] = []
