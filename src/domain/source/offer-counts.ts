/** Of the matches with a price in one basis. */
export type OfferCount = {
  offers: number
  /** Distinct ones, up to `MAX_PUBLISHERS`. */
  publishers: number
}

/** From so many on a basis is a market, and its offers order it: each one more is a look-up for each of many rows. */
const MAX_PUBLISHERS = 20

/** Counts offers in one basis, and their publishers. Most bases that sellers make up have one publisher, so sets are rare. */
export class BasisCounter {
  offers = 0
  /** Whether further publishers do not count. */
  isFull = false
  readonly #personOf: (seller: number) => string
  #first: number | null = null
  #persons: Set<string> | null = null

  /** @param personOf equal for sellers that are one publisher */
  constructor(personOf: (seller: number) => string) {
    this.#personOf = personOf
  }

  get publishers(): number {
    return this.#persons?.size ?? (this.#first === null ? 0 : 1)
  }

  addPublisher(seller: number): void {
    this.#first ??= seller
    if (seller === this.#first) return
    this.#persons ??= new Set([this.#personOf(this.#first)])
    this.#persons.add(this.#personOf(seller))
    this.isFull = this.#persons.size >= MAX_PUBLISHERS
  }
}
