/** Of the matches with a price in one basis. */
export type OfferCount = {
  offers: number
  /** Distinct ones, up to `MAX_PUBLISHERS`. */
  publishers: number
}

const MAX_PUBLISHERS = 100

/** Counts offers and their publishers per basis. Most bases that sellers make up have one publisher, so a set is rare. */
export class OfferCounter<Publisher> {
  readonly #counts = new Map<string, BasisCounter<Publisher>>()

  of(basis: string): BasisCounter<Publisher> {
    const counter = this.#counts.get(basis)
    if (counter !== undefined) return counter
    const newCounter = new BasisCounter<Publisher>()
    this.#counts.set(basis, newCounter)
    return newCounter
  }

  get counts(): Map<string, OfferCount> {
    return new Map(
      Array.from(this.#counts, ([basis, { offers, publishers }]) => [basis, { offers, publishers }]),
    )
  }
}

export class BasisCounter<Publisher> {
  offers = 0
  #first: Publisher | undefined
  #furtherPublishers: Set<Publisher> | null = null

  get publishers(): number {
    return (this.#first === undefined ? 0 : 1) + (this.#furtherPublishers?.size ?? 0)
  }

  get isFull(): boolean {
    return this.publishers >= MAX_PUBLISHERS
  }

  addPublisher(publisher: Publisher): void {
    this.#first ??= publisher
    if (publisher === this.#first) return
    this.#furtherPublishers ??= new Set()
    this.#furtherPublishers.add(publisher)
  }
}
