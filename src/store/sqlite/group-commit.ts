/** Bounds how long a commit blocks the event loop. */
const MAX_GROUP = 128

export type Transaction = {
  begin(): void
  commit(): void
  /** Ends an open transaction, also after a `begin` that failed halfway. Never throws. */
  rollback(): void
  /** Milliseconds until `begin` may succeed; `null`: never. `tries` counts from 1. */
  retryAfter(failure: unknown, tries: number): number | null
}

type Job = { mutate: () => void; acknowledge: () => void; reject: (reason: unknown) => void }

/** Mutations settle after the commit that holds them. When a group fails, each is tried alone. */
export class GroupCommit {
  readonly #transaction: Transaction
  readonly #waiting: Job[] = []
  #scheduled = false
  #tries = 0
  #idle: (() => void)[] = []

  constructor(transaction: Transaction) {
    this.#transaction = transaction
  }

  /** `mutate` may run more than once, but takes effect once. */
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
