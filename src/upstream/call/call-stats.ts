import type { Clock } from '../../domain/clock.ts'
import { MinuteCounts } from '../../domain/minutes.ts'
import type { ListingQuery } from '../../domain/query.ts'
import type { MissingSource } from '../../domain/source/missing-source.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { isAboutQuestion } from '../../domain/source/source-reason.ts'
import type { Failure } from '../../domain/source/source-status.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import type { FetchPage } from '../page/fetch-page.ts'
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
  /** Ms since the Unix epoch. */
  answeredAt: number | null = null
  lastError: Failure | null = null
  /** The latest `MAX_FAILURES`, newest first. */
  failures: readonly Failure[] = []
  readonly minutes = new MinuteCounts()
  /** `null` before the first answer. */
  isAnswering: boolean | null = null
  listings: number | null = null
  missing: readonly MissingSource[] | undefined

  /** Counts the calls, and traces them as OpenTelemetry's HTTP conventions do. */
  instrument({ url }: Pick<UpstreamOptions, 'url'>, clock: Clock, fetch: FetchPage): FetchPage {
    const { hostname, port, protocol, href } = new URL(`${url}/listings`)
    const attributes = {
      'http.request.method': 'GET',
      'server.address': hostname,
      'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
      'url.full': href,
    }
    return async (query, request) => {
      const span = query.trace?.begin?.('GET', 'client', attributes)
      this.calls.made++
      const started = clock.now()
      let failure: string | undefined = 'fault'
      try {
        const page = await fetch(span === undefined ? query : { ...query, trace: span }, request)
        span?.set({ 'http.response.status_code': 200, 'entrepot.source.items': page.items.length })
        failure = undefined
        this.#addAnswer(query, page, clock.now())
        return page
      } catch (error) {
        if (error instanceof SourceError) {
          failure = error.reason
          this.#addFailure(error, clock.now())
        }
        const status = /^http_(\d+)$/.exec(failure ?? '')?.[1]
        if (status !== undefined) span?.set({ 'http.response.status_code': Number(status) })
        throw error
      } finally {
        span?.end(failure)
        this.calls.ended++
        const elapsedMs = Math.max(0, clock.now() - started)
        this.calls.elapsedMs += elapsedMs
        this.minutes.addRequest(clock.now(), elapsedMs, failure !== undefined)
      }
    }
  }

  #addAnswer(query: ListingQuery, { received, items, missing, total }: ListingPage, at: number): void {
    this.isAnswering = true
    this.answeredAt = at
    this.items.received += received
    this.items.invalid += received - items.length
    if (query.listingId !== undefined) return
    this.missing = missing
    const isPlain = query.filters.length === 0 && query.publisher === null && query.status === 'open'
    if (isPlain) this.listings = total
  }

  #addFailure({ reason }: SourceError, at: number): void {
    const { failuresByReason } = this.calls
    this.calls.failed++
    failuresByReason[reason] = (failuresByReason[reason] ?? 0) + 1
    this.failures = [{ reason, at }, ...this.failures].slice(0, MAX_FAILURES)
    // Such a failure is about the question, not the upstream.
    if (isAboutQuestion(reason)) return
    this.isAnswering = false
    this.lastError = { reason, at }
  }
}
