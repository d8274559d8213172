type Listener = (listingIds: Iterable<string>) => void

/** Calls its listeners in the turn of each change, as `Held.onChange` describes. */
export class HeldChanges {
  readonly #listeners = new Set<Listener>()

  readonly listen = (listener: Listener): (() => void) => {
    // The same function may listen twice.
    const wrapper: Listener = (listingIds) => listener(listingIds)
    this.#listeners.add(wrapper)
    return () => void this.#listeners.delete(wrapper)
  }

  /** @param listingIds called only where there is a listener: all ids of a source are many */
  emit(listingIds: () => Iterable<string>): void {
    if (this.#listeners.size === 0) return
    const ids = [...listingIds()]
    if (ids.length === 0) return
    for (const listener of this.#listeners) listener(ids)
  }
}
