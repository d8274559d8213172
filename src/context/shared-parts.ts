export type Opened<T> = { value: T; close: () => unknown }

type Part = { opened: Promise<Opened<unknown>>; holders: number }

/**
 * The next configuration reuses parts with the same key; the last holder closes a part. Open each in a
 * function of its own: a closure would keep everything else of the first configuration alive.
 */
export class SharedParts {
  readonly #parts = new Map<string, Part>()

  /** `key` holds everything the part is made of. The returned `close` releases it for this holder, once. */
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
