import type { Clock } from '../../domain/clock.ts'
import type { MissingSource } from '../../domain/missing-source.ts'
import { SourceError } from '../../domain/source-error.ts'
import { isAboutQuestion } from '../../domain/source-reason.ts'
import type { SourceDetails, SourceStatus } from '../../domain/source-status.ts'
import type { FetchPage } from '../page/fetch-page.ts'

/** Counters of the calls to one upstream, and what its latest answers reported. */
export class CallStats {
  readonly #failuresByReason: Record<string, number> = {}
  #made = 0
  #failed = 0
  #retried = 0
  #ended = 0
  #elapsedMs = 0
  #received = 0
  #invalid = 0
  /** When it last answered, in ms since the Unix epoch; `null` where it never has. */
  answeredAt: number | null = null
  lastError: SourceStatus['lastError'] = null
  /** Whether the latest call was answered; `null` before the first. */
  isAnswering: boolean | null = null
  /** Open listings that it last reported. */
  listings: number | null = null
  /** What its latest answer reported as missing. */
  missing: readonly MissingSource[] | undefined

  get calls(): SourceDetails['calls'] {
    return {
      made: this.#made,
      failed: this.#failed,
      retried: this.#retried,
      failuresByReason: { ...this.#failuresByReason },
      ended: this.#ended,
      elapsedMs: this.#elapsedMs,
    }
  }

  get items(): SourceDetails['items'] {
    return { received: this.#received, invalid: this.#invalid }
  }

  addRetry(): void {
    this.#retried++
  }

  /** Counts every call of `fetch`. */
  instrument(clock: Clock, fetch: FetchPage): FetchPage {
    return async (query, request) => {
      this.#made++
      const started = clock.now()
      try {
        const page = await fetch(query, request)
        this.isAnswering = true
        this.answeredAt = clock.now()
        this.#received += page.received
        this.#invalid += page.received - page.items.length
        if (query.listingId !== undefined) return page
        this.missing = page.missing
        const isPlain = query.filters.length === 0 && query.publisher === null && query.status === 'open'
        if (isPlain) this.listings = page.total
        return page
      } catch (error) {
        if (error instanceof SourceError) this.#addFailure(error, clock.now())
        throw error
      } finally {
        this.#ended++
        this.#elapsedMs += Math.max(0, clock.now() - started)
      }
    }
  }

  #addFailure({ reason }: SourceError, at: number): void {
    this.#failed++
    this.#failuresByReason[reason] = (this.#failuresByReason[reason] ?? 0) + 1
    // A question that it cannot answer says nothing about its state.
    if (isAboutQuestion(reason)) return
    this.isAnswering = false
    this.lastError = { reason, at }
  }
}
