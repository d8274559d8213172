/**
 * A key that its owner has typed in. It lives in this tab alone: `sessionStorage` is neither shared with other tabs nor
 * kept when this one is closed, and the key is in no address and in no log.
 */
export class SessionKey {
  readonly #name: string

  /** @param name of the entry: a reader's key and an operator's are not the same */
  constructor(name: string) {
    this.#name = name
  }

  read(): string | null {
    try {
      return sessionStorage.getItem(this.#name)
    } catch {
      return null // a browser that keeps nothing: the key has to be typed again after a reload
    }
  }

  write(key: string | null): void {
    try {
      if (key === null) sessionStorage.removeItem(this.#name)
      else sessionStorage.setItem(this.#name, key)
    } catch {
      // as above
    }
  }
}
