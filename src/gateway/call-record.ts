import type { Gap } from '../domain/gap.ts'
import { isAboutQuestion, SourceError } from '../domain/source-error.ts'
import type { SourceDetails, SourceStatus } from '../domain/source-status.ts'
import type { FetchListings } from '../upstream/fetch-listings.ts'

/** What became of the calls to one upstream. */
export class CallRecord {
  readonly #failuresByReason = new Map<string, number>()
  #made = 0
  #failed = 0
  #retried = 0
  #ended = 0
  #elapsedMs = 0
  #received = 0
  #invalid = 0
  #answeredAt: number | null = null
  #lastError: SourceStatus['lastError'] = null
  #isAnswering: boolean | null = null
  #listings: number | null = null
  #gaps: readonly Gap[] | undefined

  /** Of the latest call: `null` before there was one. */
  get isAnswering(): boolean | null {
    return this.#isAnswering
  }

  /** Milliseconds since the Unix epoch; `null` where it never has. */
  get answeredAt(): number | null {
    return this.#answeredAt
  }

  get lastError(): SourceStatus['lastError'] {
    return this.#lastError
  }

  get listings(): number | null {
    return this.#listings
  }

  /** Of the latest answer. */
  get gaps(): Pick<SourceStatus, 'gaps'> {
    return this.#gaps === undefined ? {} : { gaps: this.#gaps }
  }

  get calls(): SourceDetails['calls'] {
    return {
      made: this.#made,
      failed: this.#failed,
      retried: this.#retried,
      failuresByReason: Object.fromEntries(this.#failuresByReason),
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

  /** Counts every call of `fetch`, and how it ended. */
  counting(fetch: FetchListings, now: () => number): FetchListings {
    return async (query, offset, signal) => {
      this.#made++
      const started = now()
      try {
        const page = await fetch(query, offset, signal)
        this.#isAnswering = true
        this.#received += page.received
        this.#invalid += page.received - page.items.length
        this.#answeredAt = now()
        // One listing comes without what is missing.
        if (query.listingId === undefined) this.#gaps = page.gaps
        const isPlain = query.filters.length === 0 && query.publisher === null && query.status === 'open'
        if (isPlain) this.#listings = page.total
        return page
      } catch (error) {
        if (error instanceof SourceError) this.#addFailure(error, now())
        throw error
      } finally {
        this.#ended++
        this.#elapsedMs += now() - started
      }
    }
  }

  #addFailure({ reason }: SourceError, at: number): void {
    this.#failed++
    this.#failuresByReason.set(reason, (this.#failuresByReason.get(reason) ?? 0) + 1)
    // A query that it cannot answer says nothing about how it is.
    if (isAboutQuestion(reason)) return
    this.#isAnswering = false
    this.#lastError = { reason, at }
  }
}
