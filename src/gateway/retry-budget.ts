/** Retries that a call earns: one call in ten may be made a second time. */
export const RETRY_SHARE = 0.1
/** What may be saved up, and is there at the start. */
export const MAX_RETRIES_SAVED = 5

/** Bounds retries to a share of all calls, so that an upstream in trouble is not asked twice as much. */
export class RetryBudget {
  #saved = MAX_RETRIES_SAVED

  earn(): void {
    this.#saved = Math.min(this.#saved + RETRY_SHARE, MAX_RETRIES_SAVED)
  }

  /** `false` where there is none left. */
  spend(): boolean {
    if (this.#saved < 1) return false
    this.#saved--
    return true
  }
}
