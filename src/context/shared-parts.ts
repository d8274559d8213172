/** Something that is open, and what lets go of it. */
export type Opened<T> = { value: T; close: () => unknown }

type Part = { opened: Promise<Opened<unknown>>; holders: number }

/**
 * Parts that may outlive the configuration that has made them: what the next one would make in the very same way, it
 * is given as it stands, with all that it knows. A part is closed when the last who holds it lets go. Since it may live
 * long, it is to be opened by a function of its own: a closure would keep all else that the first configuration has made.
 */
export class SharedParts {
  readonly #parts = new Map<string, Part>()

  /**
   * The part of that key, opened where nobody holds it. What it returns closes it for this holder, once.
   * @param key all that the part is made of: whoever has the same key has to mean the same part
   */
  async hold<T>(key: string, open: () => Promise<Opened<T>>): Promise<Opened<T>> {
    const part = this.#parts.get(key) ?? { opened: open(), holders: 0 }
    this.#parts.set(key, part)
    part.holders++
    let isHeld = true
    const letGo = async (): Promise<void> => {
      if (!isHeld) return
      isHeld = false
      part.holders--
      if (part.holders > 0) return
      this.#parts.delete(key)
      await (await part.opened).close()
    }
    try {
      return { value: (await part.opened).value as T, close: letGo }
    } catch (cause) {
      this.#parts.delete(key)
      throw cause
    }
  }
}
