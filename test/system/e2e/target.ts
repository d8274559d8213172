/** An address at which one process after another runs, with gaps. */
export class ServiceAddress {
  #url: string | null = null
  #waiting: (() => void)[] = []
  #counters: { left: number; reached: () => void }[] = []

  up(url: string): void {
    this.#url = url
    for (const go of this.#waiting.splice(0)) go()
  }

  down(): void {
    this.#url = null
  }

  /** The URL; resolves when a process runs. */
  async ready(): Promise<string> {
    while (this.#url === null) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return this.#url
  }

  /** Resolves after `count` further acknowledged requests. */
  acknowledged(count: number): Promise<void> {
    return new Promise((reached) => this.#counters.push({ left: count, reached }))
  }

  acknowledge(): void {
    for (const counter of this.#counters) if (--counter.left === 0) counter.reached()
    this.#counters = this.#counters.filter(({ left }) => left > 0)
  }
}
