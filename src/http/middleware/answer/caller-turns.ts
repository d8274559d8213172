/** Questions begin one in each turn of the event loop, of each caller in turn: many of one caller at once delay no other. */
export class CallerTurns {
  /** By caller, the one whose turn is next first. */
  readonly #waiting = new Map<string, (() => void)[]>()
  #isTaken = false

  /** Resolves when a question of the caller may begin; `null`: at once. */
  next(caller: () => string): Promise<void> | null {
    if (!this.#isTaken) {
      this.#isTaken = true
      setImmediate(this.#give)
      return null
    }
    const name = caller()
    const { promise, resolve } = Promise.withResolvers<void>()
    const others = this.#waiting.get(name)
    if (others === undefined) this.#waiting.set(name, [resolve])
    else others.push(resolve)
    return promise
  }

  readonly #give = (): void => {
    const [first] = this.#waiting
    this.#isTaken = first !== undefined
    if (first === undefined) return
    const [caller, questions] = first
    const begin = questions.shift()!
    this.#waiting.delete(caller)
    if (questions.length > 0) this.#waiting.set(caller, questions)
    setImmediate(this.#give)
    begin()
  }
}
