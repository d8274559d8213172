/** A key of this tab alone: `sessionStorage` is not shared and ends with the tab. No URL or log holds it. */
export class SessionKey {
  readonly #name: string

  constructor(name: string) {
    this.#name = name
  }

  read(): string | null {
    try {
      return sessionStorage.getItem(this.#name)
    } catch {
      return null // storage is disabled: the key has to be typed again after a reload
    }
  }

  write(key: string | null): void {
    try {
      if (key === null) sessionStorage.removeItem(this.#name)
      else sessionStorage.setItem(this.#name, key)
    } catch {
      // As in `read`.
    }
  }
}
