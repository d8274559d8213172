import type { Clock } from '../../domain/clock.ts'
import { MinuteCounts } from '../../domain/minutes.ts'
import { type Failure, failureOf } from '../../domain/source/failure.ts'
import { traitsOf } from '../../domain/source/reasons.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import { type Interceptor, PURPOSES, whenEnded } from '../http/request.ts'
import type { ListingPage } from '../page/listing-page.ts'

const MAX_FAILURES = 20

export class CallStats {
  readonly calls = {
    made: 0,
    failed: 0,
    retried: 0,
    failuresByReason: {} as Record<string, number>,
    ended: 0,
    elapsedMs: 0,
  }
  readonly items = { received: 0, invalid: 0 }
  lastError: Failure | null = null
  /** The latest `MAX_FAILURES`, newest first. */
  failures: readonly Failure[] = []
  /** Of the latest connection, in ms since the Unix epoch. */
  certificateEndsAt: number | null = null
  readonly minutes = new MinuteCounts()

  /** Counts requests for listings. */
  count(clock: Clock, upstream: Pick<UpstreamOptions, 'name' | 'key'>): Interceptor {
    return (dispatch) => (request, handler) => {
      if (!PURPOSES[request.purpose].isCounted) return dispatch(request, handler)
      this.calls.made++
      const startedAt = clock.monotonic()
      const end = (error: Error | null): void => {
        const endedAt = clock.monotonic()
        const elapsedMs = endedAt - startedAt
        this.calls.ended++
        this.calls.elapsedMs += elapsedMs
        this.minutes.addRequest(endedAt, elapsedMs, error !== null)
        if (error instanceof SourceError) this.#addFailure(failureOf(error, upstream, clock.now()))
      }
      return dispatch(request, whenEnded(handler, end))
    }
  }

  addPage({ received, items }: Pick<ListingPage, 'received' | 'items'>): void {
    this.items.received += received
    this.items.invalid += received - items.length
  }

  #addFailure(failure: Failure): void {
    const { reason } = failure
    const { failuresByReason } = this.calls
    this.calls.failed++
    failuresByReason[reason] = (failuresByReason[reason] ?? 0) + 1
    this.failures = [failure, ...this.failures].slice(0, MAX_FAILURES)
    // Such a failure is about the question, not the upstream.
    if (traitsOf(reason).fault !== 'question') this.lastError = failure
  }
}
