/** Calls its listeners in the turn of each event. */
export class Emitter<Event> {
  readonly #listeners = new Set<(event: Event) => void>()

  readonly listen = (listener: (event: Event) => void): (() => void) => {
    // The same function may listen twice.
    const wrapper = (event: Event): void => listener(event)
    this.#listeners.add(wrapper)
    return () => void this.#listeners.delete(wrapper)
  }

  get isHeard(): boolean {
    return this.#listeners.size > 0
  }

  emit(event: Event): void {
    for (const listener of this.#listeners) listener(event)
  }
}
