import type { PricedItem, PriceOrder, PricePlace } from '../../domain/source/selection.ts'
import { comparePricePlaces } from '../../listing-index/item-selection.ts'
import type { SelectedSource } from '../selected-source.ts'

/** One source by price, from a place on. A gateway may have several listings at one place. */
export class PriceReader {
  readonly source: SelectedSource
  readonly #listings: IteratorObject<PricedItem, void>
  head: PricedItem | undefined
  /** Of the listing that was taken last. */
  #at: PricePlace | null = null
  /** Listings at that place that were taken. */
  passed = 0

  /** @param start where to continue, behind `passed` listings at that place */
  constructor(source: SelectedSource, order: PriceOrder, start: { at: PricePlace; passed: number } | null) {
    const { at = null, passed = 0 } = start ?? {}
    const isBehind = at === null || passed === Number.POSITIVE_INFINITY
    this.source = source
    this.#listings = source.selection!.byPrice(order, isBehind ? at : justBefore(at))
    this.#advance()
    while (at !== null && this.head !== undefined) {
      const order = comparePricePlaces(this.head.place, at)
      if (order > 0 || (order === 0 && this.passed >= passed)) break
      if (order === 0) this.take()
      else this.#advance()
    }
  }

  take(): PricedItem {
    const taken = this.head!
    const isSamePlace = this.#at !== null && comparePricePlaces(taken.place, this.#at) === 0
    this.passed = isSamePlace ? this.passed + 1 : 1
    this.#at = taken.place
    this.#advance()
    return taken
  }

  #advance(): void {
    this.head = this.#listings.next().value ?? undefined
  }
}

/** So close that hardly a place is between. */
function justBefore({ listingId, ...place }: PricePlace): PricePlace {
  const last = listingId.charCodeAt(listingId.length - 1)
  const start = listingId.slice(0, -1)
  return { ...place, listingId: last > 0 ? `${start}${String.fromCharCode(last - 1)}\uffff` : start }
}
