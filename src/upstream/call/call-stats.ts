import type { Clock } from '../../domain/clock.ts'
import { MinuteCounts } from '../../domain/minutes.ts'
import type { MissingSource } from '../../domain/source/missing-source.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { isAboutQuestion } from '../../domain/source/source-reason.ts'
import type { Failure } from '../../domain/source/source-status.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import type { FetchPage } from '../page/fetch-page.ts'

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

  instrument(clock: Clock, fetch: FetchPage): FetchPage {
    return async (query, request) => {
      this.calls.made++
      const started = clock.now()
      let hasFailed = true
      try {
        const page = await fetch(query, request)
        hasFailed = false
        this.isAnswering = true
        this.answeredAt = clock.now()
        this.items.received += page.received
        this.items.invalid += page.received - page.items.length
        if (query.listingId !== undefined) return page
        this.missing = page.missing
        const isPlain = query.filters.length === 0 && query.publisher === null && query.status === 'open'
        if (isPlain) this.listings = page.total
        return page
      } catch (error) {
        if (error instanceof SourceError) this.#addFailure(error, clock.now())
        throw error
      } finally {
        this.calls.ended++
        const elapsedMs = Math.max(0, clock.now() - started)
        this.calls.elapsedMs += elapsedMs
        this.minutes.addRequest(clock.now(), elapsedMs, hasFailed)
      }
    }
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

/** Follows OpenTelemetry's HTTP conventions. */
export function traceCall(upstream: Pick<UpstreamOptions, 'url'>, fetch: FetchPage): FetchPage {
  const { hostname, port, protocol, href } = new URL(`${upstream.url}/listings`)
  const attributes = {
    'http.request.method': 'GET',
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'url.full': href,
  }
  return async (query, request) => {
    if (query.trace?.begin === undefined) return fetch(query, request)
    const span = query.trace.begin('GET', 'client', attributes)
    try {
      const page = await fetch({ ...query, trace: span }, request)
      span.set({ 'http.response.status_code': 200, 'entrepot.source.items': page.items.length })
      span.end()
      return page
    } catch (error) {
      const reason = error instanceof SourceError ? error.reason : 'fault'
      const status = /^http_(\d+)$/.exec(reason)?.[1]
      if (status !== undefined) span.set({ 'http.response.status_code': Number(status) })
      span.end(reason)
      throw error
    }
  }
}
