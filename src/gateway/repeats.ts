import { SeenListings } from '../domain/listing-identity.ts'
import type { Item } from '../domain/source/reading.ts'
import type { Verdict } from './deciders.ts'

/** Remembers the listings of one sequence once a listing may come again: a better source that is loading may get a copy. */
export class Repeats {
  readonly #listings = new SeenListings()
  #mayRepeat = false

  /** Whether a copy of the listing was shown before. */
  add(item: Item, { unchecked }: Verdict): boolean {
    this.#mayRepeat ||= unchecked.length > 0
    return this.#mayRepeat && !this.#listings.add(item.listingId, item)
  }
}
