/** The locations of the rows of each listing id: one, or a few. */
export class Groups {
  readonly #locations = new Map<string, number | number[]>()
  size = 0

  of(listingId: string): readonly number[] {
    const locations = this.#locations.get(listingId) ?? NONE
    return typeof locations === 'number' ? [locations] : locations
  }

  /** Of an id with one row. */
  only(listingId: string): number | undefined {
    const locations = this.#locations.get(listingId)
    return typeof locations === 'number' ? locations : undefined
  }

  /** Ids that come or go meanwhile may be among them. @param areShared only those with several rows */
  *listingIds({ areShared = false } = {}): Generator<string> {
    for (const [id, locations] of this.#locations) if (!areShared || typeof locations !== 'number') yield id
  }

  add(listingId: string, location: number): void {
    const before = this.#locations.get(listingId)
    if (before === undefined) this.#locations.set(listingId, location)
    else if (typeof before === 'number') this.#locations.set(listingId, [before, location])
    else before.push(location)
    this.size++
  }

  remove(listingId: string, location: number): void {
    const before = this.#locations.get(listingId)
    if (before === undefined) return
    if (typeof before === 'number') this.#locations.delete(listingId)
    else if (before.length === 2) this.#locations.set(listingId, before[before[0] === location ? 1 : 0]!)
    else before.splice(before.indexOf(location), 1)
    this.size--
  }

  move(listingId: string, from: number, to: number): void {
    const before = this.#locations.get(listingId)
    if (typeof before === 'number') this.#locations.set(listingId, to)
    else if (before !== undefined) before[before.indexOf(from)] = to
  }
}

const NONE: readonly number[] = []
