import { type Identity, isSameListing } from '../domain/merge.ts'
import type { Item } from '../domain/page.ts'

/** A listing that was shown: who it is, and as which one of the walk. */
type Mark = Identity & { nth: number }

/**
 * Listings that a walk has shown, so that a copy that comes by later is not shown again. One walk may be gone on with
 * from several places: what was shown at the nth place or later does not count for whoever stands at n.
 */
export class Shown {
  readonly #marks = new Map<string, Mark | Mark[]>()
  /** One string for all listings of a storefront. */
  readonly #texts = new Map<string, string>()
  size = 0

  add(item: Item, nth: number): void {
    if (this.has(item)) return
    const mark = { publisher: this.#same(item.publisher), storefrontUrl: this.#same(item.storefrontUrl), nth }
    const known = this.#marks.get(item.listingId)
    if (known === undefined) this.#marks.set(item.listingId, mark)
    else this.#marks.set(item.listingId, [...[known].flat(), mark])
    this.size++
  }

  /** Whether that listing, or a copy of it, was shown before the nth place. */
  has(item: Item, before = Number.POSITIVE_INFINITY): boolean {
    const known = this.#marks.get(item.listingId)
    if (known === undefined) return false
    if (!Array.isArray(known)) return known.nth < before && isSameListing(known, item)
    return known.some((mark) => mark.nth < before && isSameListing(mark, item))
  }

  #same(text: string | null): string | null {
    if (text === null) return null
    const known = this.#texts.get(text)
    if (known === undefined) this.#texts.set(text, text)
    return known ?? text
  }
}
