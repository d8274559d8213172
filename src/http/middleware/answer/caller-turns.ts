/** Questions begin one in each turn of the event loop, of each reader in turn: many of one reader at once delay no other reader. */
export class ReaderTurns {
  /** By reader, the one whose turn is next first. */
  readonly #waiting = new Map<string, (() => void)[]>()
  #isTaken = false

  /** Resolves when a question of the reader may begin; `null`: at once. */
  next(reader: () => string): Promise<void> | null {
    if (!this.#isTaken) {
      this.#isTaken = true
      setImmediate(this.#give)
      return null
    }
    const name = reader()
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
    const [reader, questions] = first
    const begin = questions.shift()!
    this.#waiting.delete(reader)
    if (questions.length > 0) this.#waiting.set(reader, questions)
    setImmediate(this.#give)
    begin()
  }
}
