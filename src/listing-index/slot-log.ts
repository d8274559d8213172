const FIRST_ROOM = 32

export class SlotLog {
  length = 0
  #numbers = new Uint32Array(FIRST_ROOM)
  #slots = new Uint16Array(FIRST_ROOM)

  add(number: number, slot: number): void {
    if (this.length === this.#slots.length) this.#grow()
    this.#numbers[this.length] = number
    this.#slots[this.length] = slot
    this.length++
  }

  forEach(visit: (number: number, slot: number) => void): void {
    for (let n = 0; n < this.length; n++) visit(this.#numbers[n]!, this.#slots[n]!)
  }

  /** Also frees memory. */
  clear(): void {
    this.length = 0
    if (this.#slots.length === FIRST_ROOM) return
    this.#numbers = new Uint32Array(FIRST_ROOM)
    this.#slots = new Uint16Array(FIRST_ROOM)
  }

  #grow(): void {
    const numbers = new Uint32Array(this.length * 2)
    numbers.set(this.#numbers)
    this.#numbers = numbers
    const slots = new Uint16Array(this.length * 2)
    slots.set(this.#slots)
    this.#slots = slots
  }
}
