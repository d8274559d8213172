/** Numbers of sets of lanes, as long as rows refer to them; then they mean another set. The empty one has 0. */
export class LaneSets {
  readonly #sets: (readonly number[])[] = [[]]
  readonly #keys: string[] = ['']
  readonly #uses: number[] = [0]
  readonly #numbers = new Map<string, number>()
  readonly #free: number[] = []
  readonly #onNumber: (number: number) => void

  /** @param onNumber called for each set that is numbered from now on */
  constructor(onNumber: (number: number) => void) {
    this.#onNumber = onNumber
  }

  /** Ever numbered: all numbers are less. */
  get size(): number {
    return this.#sets.length
  }

  at(number: number): readonly number[] {
    return this.#sets[number]!
  }

  /** To be used at once. */
  numberOf(lanes: readonly number[]): number {
    if (lanes.length === 0) return 0
    const sorted = lanes.length === 1 ? lanes : [...new Set(lanes)].sort((a, b) => a - b)
    const key = sorted.join()
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const number = this.#free.pop() ?? this.#sets.length
    this.#sets[number] = sorted.slice()
    this.#keys[number] = key
    this.#uses[number] = 0
    this.#numbers.set(key, number)
    this.#onNumber(number)
    return number
  }

  /** A row refers to it now, or does not any more. */
  use(number: number, change: 1 | -1): void {
    if (number === 0) return
    this.#uses[number]! += change
    if (this.#uses[number]! > 0) return
    this.#numbers.delete(this.#keys[number]!)
    this.#free.push(number)
  }
}
