/** One run of a task at a time, which concurrent callers share. */
export class SingleFlight<Args extends unknown[], Result> {
  readonly #task: (...args: Args) => Promise<Result>
  #current: Promise<Result> | null = null
  #next: Promise<Result> | null = null

  constructor(task: (...args: Args) => Promise<Result>) {
    this.#task = task
  }

  get current(): Promise<Result> | null {
    return this.#current
  }

  /** Joins the current run, or starts one. */
  join(...args: Args): Promise<Result> {
    this.#current ??= this.#task(...args).finally(() => {
      this.#current = null
    })
    return this.#current
  }

  /** Joins the run after the current one, which may have started too early for this caller. */
  joinNext(...args: Args): Promise<Result> {
    if (this.#current === null) return this.join(...args)
    this.#next ??= this.#current
      .catch(() => {}) // its own callers get the failure
      .then(() => {
        this.#next = null
        return this.join(...args)
      })
    return this.#next
  }
}
