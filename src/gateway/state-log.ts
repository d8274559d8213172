import type { SourceReason } from '../domain/source-error.ts'
import type { SourceLog } from '../domain/source-log.ts'

/** Tells how an upstream is treated, once a change: many readers meet the same fault. */
export class StateLog {
  readonly #upstream: string
  readonly #log: SourceLog | undefined
  #isLeftAlone = false
  #isRefused = false

  constructor(upstream: string, log: SourceLog | undefined) {
    this.#upstream = upstream
    this.#log = log
  }

  leftAlone(reason: SourceReason): void {
    if (!this.#isLeftAlone)
      this.#log?.warn({ upstream: this.#upstream, reason }, 'it has failed too often and is left alone')
    this.#isLeftAlone = true
  }

  answers(): void {
    if (this.#isLeftAlone) this.#log?.info({ upstream: this.#upstream }, 'it answers and is asked again')
    this.#isLeftAlone = false
  }

  refusesKey(): void {
    if (!this.#isRefused) this.#log?.warn({ upstream: this.#upstream }, 'it refuses our key')
    this.#isRefused = true
  }

  takesKey(): void {
    if (this.#isRefused) this.#log?.info({ upstream: this.#upstream }, 'it takes our key again')
    this.#isRefused = false
  }
}
