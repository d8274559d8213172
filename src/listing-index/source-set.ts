/** Which sources a question reads: of each at most one generation. To be kept, since it is compared with others by its key. */
export class SourceSet {
  readonly numbers: readonly number[]
  /** Equal for sets of the same numbers. */
  readonly key: string
  readonly #all: ReadonlySet<number>

  constructor(numbers: Iterable<number>) {
    this.#all = new Set(numbers)
    this.numbers = [...this.#all].sort((a, b) => a - b)
    this.key = this.numbers.join()
  }

  has(source: number): boolean {
    return this.#all.has(source)
  }
}
