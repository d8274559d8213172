/** Most mutations in one transaction: bounds how long a commit holds up the event loop. */
const MAX_GROUP = 128

/** The transaction that a group shares. `begin` and `commit` throw if they fail. */
export type Transaction = {
  begin(): void
  commit(): void
  /** Ends the transaction where one is open, also after a `begin` that failed halfway. Never throws. */
  rollback(): void
  /** Milliseconds until `begin` is worth another try after this failure; `null` for never. `tries` counts from 1. */
  retryAfter(failure: unknown, tries: number): number | null
}

type Job = { mutate: () => void; acknowledge: () => void; reject: (reason: unknown) => void }

/**
 * Lets mutations that arrive in the same turn of the event loop share one transaction, and so one fsync. Each is
 * still all or nothing, and settles only after the commit that holds it: when a group fails, each of its mutations
 * is tried again on its own, so that one cannot spoil the others.
 */
export class GroupCommit {
  readonly #transaction: Transaction
  readonly #waiting: Job[] = []
  #scheduled = false
  #tries = 0
  #idle: (() => void)[] = []

  constructor(transaction: Transaction) {
    this.#transaction = transaction
  }

  /** Runs `mutate` inside a transaction. It may run more than once, but takes effect once. */
  run<T>(mutate: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      let result: T
      const keep = () => {
        result = mutate()
      }
      this.#waiting.push({ mutate: keep, acknowledge: () => resolve(result), reject })
      this.#schedule(0)
    })
  }

  /** Resolves when nothing waits any more. */
  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve)
      this.#schedule(0)
    })
  }

  #schedule(delay: number): void {
    if (this.#scheduled) return
    this.#scheduled = true
    if (delay === 0) setImmediate(() => this.#turn())
    else setTimeout(() => this.#turn(), delay)
  }

  #turn(): void {
    this.#scheduled = false
    const group = this.#waiting.splice(0, MAX_GROUP)
    const delay = group.length === 0 ? null : this.#settle(group)
    if (delay !== null) this.#waiting.unshift(...group)
    if (this.#waiting.length > 0) this.#schedule(delay ?? 0)
    else for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Milliseconds to wait before the same group is tried again; `null` when it is settled. */
  #settle(group: readonly Job[]): number | null {
    try {
      this.#transaction.begin()
    } catch (failure) {
      this.#transaction.rollback()
      this.#tries++
      const delay = this.#transaction.retryAfter(failure, this.#tries)
      if (delay !== null) return delay
      this.#tries = 0
      for (const job of group) job.reject(failure)
      return null
    }
    this.#tries = 0
    try {
      for (const job of group) job.mutate()
      this.#transaction.commit()
      for (const job of group) job.acknowledge()
    } catch (failure) {
      this.#transaction.rollback()
      if (group.length === 1) group[0]!.reject(failure)
      else for (const job of group) this.#settleAlone(job)
    }
    return null
  }

  #settleAlone(job: Job): void {
    const delay = this.#settle([job])
    if (delay !== null) this.#waiting.push(job)
  }
}
