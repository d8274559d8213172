/** Of the matches with a price in one basis. */
export type OfferCount = {
  offers: number
  /** Distinct ones, up to `MAX_PUBLISHERS`. */
  publishers: number
}

const MAX_PUBLISHERS = 100

/** Counts offers and their publishers per basis. */
export class OfferCounter {
  readonly #counts = new Map<string, BasisCounter>()
  readonly #personOf: (seller: number) => string

  /** @param personOf equal for sellers that are one publisher */
  constructor(personOf: (seller: number) => string) {
    this.#personOf = personOf
  }

  of(basis: string): BasisCounter {
    const counter = this.#counts.get(basis)
    if (counter !== undefined) return counter
    const newCounter = new BasisCounter(this.#personOf)
    this.#counts.set(basis, newCounter)
    return newCounter
  }

  /** Without bases of no offer. */
  get counts(): Map<string, OfferCount> {
    const counts = new Map<string, OfferCount>()
    for (const [basis, { offers, publishers }] of this.#counts)
      if (offers > 0) counts.set(basis, { offers, publishers })
    return counts
  }
}

/** Most bases that sellers make up have one publisher, so sets are rare. */
export class BasisCounter {
  offers = 0
  readonly #personOf: (seller: number) => string
  #first: number | null = null
  #persons: Set<string> | null = null

  constructor(personOf: (seller: number) => string) {
    this.#personOf = personOf
  }

  get publishers(): number {
    return this.#persons?.size ?? (this.#first === null ? 0 : 1)
  }

  get isFull(): boolean {
    return this.publishers >= MAX_PUBLISHERS
  }

  /** One offer. */
  add(seller: number): void {
    this.offers++
    this.#first ??= seller
    if (seller === this.#first || this.isFull) return
    this.#persons ??= new Set([this.#personOf(this.#first)])
    this.#persons.add(this.#personOf(seller))
  }
}
