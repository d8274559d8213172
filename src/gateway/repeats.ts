import { SeenListings } from '../domain/listing-identity.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Item } from '../domain/source/reading.ts'
import type { Verdict } from './deciders.ts'

/** Listings of one sequence, once another copy of one may come: a gateway repeats its own, a better source was not asked. */
export class Repeats {
  readonly #listings = new SeenListings()
  #mayRepeat = false

  /** Whether a copy of the listing was shown before. */
  add(item: Item, { mayRepeat }: Pick<NamedSource, 'mayRepeat'>, { unchecked }: Verdict): boolean {
    this.#mayRepeat ||= mayRepeat === true || unchecked.length > 0
    return this.#mayRepeat && !this.#listings.add(item.listingId, item)
  }
}
