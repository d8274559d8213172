/** Counts the requests that are being answered, so that a replaced configuration stays open until they end. */
export class InFlightRequests {
  #count = 0
  #onIdle: (() => void)[] = []

  begin(): void {
    this.#count++
  }

  /** The response is sent whole, or its connection has closed. */
  end(): void {
    this.#count--
    if (this.#count > 0) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  /** Resolves when no request is in flight. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve()
      else this.#onIdle.push(resolve)
    })
  }
}
