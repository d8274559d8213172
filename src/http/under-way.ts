/** Requests that are being answered, so that what answers them is not taken from under them. */
export class UnderWay {
  #count = 0
  #onIdle: (() => void)[] = []

  begin(): void {
    this.#count++
  }

  /** The answer is out, or its caller has gone. */
  end(): void {
    this.#count--
    if (this.#count > 0) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  /** Resolves when there is none. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve()
      else this.#onIdle.push(resolve)
    })
  }
}
