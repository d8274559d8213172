import type { HiddenRows } from '../domain/query.ts'

/** Keys of rows, which are replaced id by id. `update`: before they are read, for what has changed. */
export class KeySet implements HiddenRows {
  readonly #update: () => void
  readonly #keys = new Set<string>()
  #version = 0
  readonly #byId = new Map<string, readonly string[]>()

  constructor(update: () => void) {
    this.#update = update
  }

  get keys(): ReadonlySet<string> {
    this.#update()
    return this.#keys
  }

  get version(): number {
    this.#update()
    return this.#version
  }

  /** Of the rows. */
  get listingIds(): Iterable<string> {
    this.#update()
    return this.#byId.keys()
  }

  /** @returns whether it changes anything */
  set(listingId: string, keys: readonly string[]): boolean {
    const before = this.#byId.get(listingId) ?? NONE
    if (before.length === keys.length && before.every((key, n) => key === keys[n])) return false
    for (const key of before) this.#keys.delete(key)
    for (const key of keys) this.#keys.add(key)
    if (keys.length === 0) this.#byId.delete(listingId)
    else this.#byId.set(listingId, keys)
    this.#version++
    return true
  }
}

const NONE: readonly string[] = []
