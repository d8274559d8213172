import { SeenListings } from '../domain/listing-identity.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Item } from '../domain/source/reading.ts'
import type { Verdict } from './deciders.ts'

/**
 * Remembers the listings of one sequence once a listing may come again: a gateway repeats its own, and a better source
 * that was not asked may have a copy.
 */
export class Repeats {
  readonly #listings = new SeenListings()
  #mayRepeat = false

  /** Whether a copy of the listing was shown before. */
  add(item: Item, { mayRepeat }: Pick<NamedSource, 'mayRepeat'>, { unchecked }: Verdict): boolean {
    this.#mayRepeat ||= mayRepeat === true || unchecked.length > 0
    return this.#mayRepeat && !this.#listings.add(item.listingId, item)
  }
}
