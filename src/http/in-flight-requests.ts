/** Requests in flight keep a replaced configuration open. */
export class InFlightRequests {
  #count = 0
  #onIdle: (() => void)[] = []

  begin(): void {
    this.#count++
  }

  end(): void {
    this.#count--
    if (this.#count > 0) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve()
      else this.#onIdle.push(resolve)
    })
  }
}
