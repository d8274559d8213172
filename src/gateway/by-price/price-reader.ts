import type { PricedItem, PriceOrder, PricePlace } from '../../domain/source/selection.ts'
import { comparePricePlaces } from '../../listing-index/item-selection.ts'
import type { SelectedSource } from '../selected-source.ts'

/** Listings of one source that are read at once. */
const MIN_CHUNK = 32
const MAX_CHUNK = 500

/** One source by price, from a place on. A gateway may have several listings at one place. */
export class PriceReader {
  readonly source: SelectedSource
  readonly #order: PriceOrder
  /** Of the listing that was taken last. */
  #at: PricePlace | null
  /** Listings at that place that were taken. */
  #passed: number
  #listings: readonly PricedItem[] = []
  #next = 0
  #hasMore = true

  constructor(source: SelectedSource, order: PriceOrder, start: { at: PricePlace; passed: number } | null) {
    this.source = source
    this.#order = order
    this.#at = start?.at ?? null
    this.#passed = start?.passed ?? 0
  }

  get passed(): number {
    return this.#passed
  }

  /** @param wanted how many more are likely to be read */
  head(wanted: number): PricedItem | undefined {
    if (this.#next >= this.#listings.length && this.#hasMore) this.#read(wanted)
    return this.#listings[this.#next]
  }

  take(): PricedItem {
    const taken = this.#listings[this.#next++]!
    const isSamePlace = this.#at !== null && comparePricePlaces(taken.place, this.#at) === 0
    this.#passed = isSamePlace ? this.#passed + 1 : 1
    this.#at = taken.place
    return taken
  }

  #read(wanted: number): void {
    const { selection } = this.source
    const at = this.#at
    let count = Math.min(Math.max(wanted, MIN_CHUNK), MAX_CHUNK)
    do {
      const after = at === null || this.#passed === Number.POSITIVE_INFINITY ? at : justBefore(at)
      const { listings, hasMore } = selection!.byPrice(this.#order, after, count)
      this.#listings = at === null ? listings : this.#behind(listings, at)
      this.#next = 0
      this.#hasMore = hasMore
      count *= 2
    } while (this.#listings.length === 0 && this.#hasMore)
  }

  /** Without the listings at `at` that were taken. */
  #behind(listings: readonly PricedItem[], at: PricePlace): readonly PricedItem[] {
    let skipped = 0
    return listings.filter(({ place }) => {
      const order = comparePricePlaces(place, at)
      return order > 0 || (order === 0 && ++skipped > this.#passed)
    })
  }
}

/** So close that hardly a place is between. */
function justBefore({ listingId, ...place }: PricePlace): PricePlace {
  const last = listingId.charCodeAt(listingId.length - 1)
  const start = listingId.slice(0, -1)
  return { ...place, listingId: last > 0 ? `${start}${String.fromCharCode(last - 1)}\uffff` : start }
}
