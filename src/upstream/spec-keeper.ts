import type { Clock } from '../domain/clock.ts'
import { SourceError } from '../domain/source-error.ts'
import type { UpstreamSpec } from '../filter-spec/upstream-spec.ts'
import type { FetchFilterSpec } from './filter-spec.ts'

/** How long an upstream's filter spec is taken as it was. */
export const SPEC_FRESH_MS = 60_000
/** How long nobody tries again after a failure. */
export const SPEC_RETRY_MS = 5_000
/** How long those who have waited for a first spec that was late take until they would ask for something else. */
export const JUST_LATE_MS = 50

/**
 * What is known of one upstream's filter spec: fetched once at the start, and again in the background when it is
 * used and old. What was known stays known while the upstream cannot be reached.
 */
export class SpecKeeper {
  readonly #fetch: FetchFilterSpec
  readonly #clock: Clock
  readonly #first: Promise<void>
  #spec: UpstreamSpec | null = null
  #running: Promise<void> | null = null
  #nextAt = 0
  #lateAt = Number.NEGATIVE_INFINITY

  constructor(fetch: FetchFilterSpec, clock: Clock) {
    this.#fetch = fetch
    this.#clock = clock
    this.#first = this.#refresh()
  }

  /**
   * Whether those who have waited for `known` have just done so in vain: who has not said what it can be asked within
   * its time will not answer within that time again, and nobody is to wait twice.
   */
  get isJustLate(): boolean {
    return this.#clock.now() - this.#lateAt < JUST_LATE_MS
  }

  /** As it is known now; `null` where it is not. */
  current(): UpstreamSpec | null {
    if (this.#clock.now() >= this.#nextAt) void this.#refresh()
    return this.#spec
  }

  /** As it is known once the upstream was asked for it for the first time. Never rejects. */
  async known(): Promise<UpstreamSpec | null> {
    await this.#first
    return this.current()
  }

  /**
   * As it is known after asking anew, because an answer has shown `doubted` to be wrong; what is known is another by
   * now where someone else has asked. Never rejects.
   */
  async recheck(doubted: UpstreamSpec | null): Promise<UpstreamSpec | null> {
    if (this.#spec === doubted) await this.#refresh()
    return this.#spec
  }

  /** Asks anew in the background, whatever is known. */
  refresh(): void {
    void this.#refresh()
  }

  #refresh(): Promise<void> {
    this.#running ??= this.#ask().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async #ask(): Promise<void> {
    try {
      this.#spec = await this.#fetch(this.#spec)
      this.#nextAt = this.#clock.now() + SPEC_FRESH_MS
    } catch (error) {
      const isFirst = this.#nextAt === 0
      if (isFirst && error instanceof SourceError && error.reason === 'timeout')
        this.#lateAt = this.#clock.now()
      // The listings are asked for all the same, and their failure is told to readers; a spec may be had later.
      this.#nextAt = this.#clock.now() + SPEC_RETRY_MS
    }
  }
}
