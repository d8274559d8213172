import { z } from 'zod'
import type { Clock } from '../../domain/clock.ts'
import { maySee } from '../../domain/reader.ts'
import type { Failure } from '../../domain/source/failure.ts'
import type { SourceDetails, SourceStatus } from '../../domain/source/source-status.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import { EntrepotError } from '../../errors.ts'
import type { Market } from '../../gateway/market.ts'
import { reportStatus, timeOf } from '../../gateway/source-report.ts'
import {
  MANY_SOURCES,
  type SourceDetailsJson,
  sourceDetailsSchema,
  sourceStatusSchema,
} from '../../wire/source.ts'
import { toTraffic } from '../../wire/traffic.ts'
import { readIntegerParameter } from '../parameters.ts'
import { integerParameter, json, NO_STORE, parameter, type Route } from '../route.ts'

export type SourceList = {
  /** In configuration order. */
  sources: readonly {
    status: () => SourceStatus | SourceDetails
    refresh?: () => void
    probe?: () => Promise<void>
  }[]
  clock: Clock
}

export const sourceRoutes = (
  list: SourceList & { market: Pick<Market, 'listingCounts' | 'ruleCounts'> },
): Route[] => [readerRoute(list), ...adminRoutes(list)]

const LIMIT = integerParameter('query', 'limit', 'Sources on the page', {
  minimum: 1,
  maximum: 1000,
  default: MANY_SOURCES,
})
const OFFSET = integerParameter('query', 'offset', 'Sources before the page', { minimum: 0, default: 0 })

const readerRoute = ({ sources, market }: Parameters<typeof sourceRoutes>[0]): Route => ({
  method: 'GET',
  path: '/sources',
  gate: 'read',
  summary: 'State of the sources that the reader may see',
  parameters: [LIMIT, OFFSET],
  responses: {
    200: {
      description: 'A page of the sources, in the order of the configuration',
      schema: z.object({
        sources: z.array(sourceStatusSchema),
        total: z.int().describe('On all pages'),
      }),
    },
  },
  problems: [422],
  handle: async ({ query, reader }) => {
    const limit = readIntegerParameter(LIMIT, query.limit) ?? MANY_SOURCES
    const offset = readIntegerParameter(OFFSET, query.offset) ?? 0
    const counts = await market.listingCounts({ reader })
    const visible = sources.map(({ status }) => status()).filter((status) => maySee(reader, status))
    const reports = visible.slice(offset, offset + limit).map((status) => {
      const listings = counts === null ? status.listings : (counts.get(status.name) ?? null)
      return reportStatus({ ...status, listings })
    })
    const headers = { ...NO_STORE, Vary: 'Authorization' }
    return { ...json({ sources: reports, total: visible.length }), headers }
  },
})

const adminRoutes = ({ sources, clock, market }: Parameters<typeof sourceRoutes>[0]): Route[] => [
  {
    method: 'GET',
    path: '/admin/sources',
    gate: 'admin',
    summary: 'State of all sources, with circuit breakers, caches and calls',
    responses: {
      200: {
        description: 'The sources, in the order of the configuration',
        schema: z.object({ sources: z.array(sourceDetailsSchema) }),
      },
    },
    handle: async () => {
      const counts = await market.ruleCounts()
      const reports = sources.map(({ status }) => {
        const report = withTraffic(status(), clock.monotonic())
        const leftOut = counts.get(report.registry) ?? []
        return leftOut.length === 0 ? report : { ...report, left_out: [...leftOut] }
      })
      return { ...json({ sources: reports }), headers: NO_STORE }
    },
  },
  {
    method: 'POST',
    path: '/admin/sources/:name/refresh',
    gate: 'admin',
    act: 'source.refresh',
    summary: 'Clear the cache of an upstream and fetch it again',
    parameters: [NAME],
    responses: {
      202: { description: 'Its cache is empty; its filter spec and listings are being fetched' },
    },
    problems: [404],
    handle: ({ params }) => {
      upstreamOf(sources, params.name).refresh()
      return { status: 202 }
    },
  },
  {
    method: 'POST',
    path: '/admin/sources/:name/probe',
    gate: 'admin',
    act: 'source.probe',
    summary: 'Send an upstream one request, and wait for its answer',
    description: 'Also while its circuit breaker is open, but not while it asked to wait.',
    parameters: [NAME],
    responses: { 200: { description: 'Its state afterwards', schema: sourceDetailsSchema } },
    problems: [404],
    handle: async ({ params }) => {
      const { probe, status } = upstreamOf(sources, params.name)
      await probe()
      return { ...json(withTraffic(status(), clock.monotonic())), headers: NO_STORE }
    },
  },
]

const NAME = parameter('path', 'name', 'Name of the upstream')

function upstreamOf(sources: SourceList['sources'], name: string | undefined) {
  const { refresh, probe, status } = sources.find((source) => source.status().name === name) ?? {}
  if (refresh === undefined || probe === undefined || status === undefined)
    throw new EntrepotError(
      'not_found',
      `There is no upstream ${JSON.stringify(name)}: see GET /admin/sources`,
    )
  return { refresh, probe, status }
}

const withTraffic = (status: SourceStatus | SourceDetails, now: number): SourceDetailsJson => ({
  ...detailsToJson(status),
  ...('minutes' in status && { traffic: toTraffic(status.minutes, now) }),
})

/** Without the counts by the minute. */
export function detailsToJson(status: SourceStatus | SourceDetails): SourceDetailsJson {
  const about = { ...reportStatus(status), last_error: status.lastError && describeFailure(status.lastError) }
  if (!('calls' in status)) return about
  const { breaker, bytes, calls, items, failures, certificateEndsAt, options } = status
  const { followed, missedChanges: missed } = status
  return {
    ...about,
    certificate_ends_at: certificateEndsAt === null ? null : timeOf(certificateEndsAt),
    breaker: {
      state: breaker.state,
      failures_in_a_row: breaker.failuresInARow,
      retry_at: breaker.retryAt === null ? null : timeOf(breaker.retryAt),
      suspended: breaker.suspended && {
        reason: breaker.suspended.reason,
        until: timeOf(breaker.suspended.until),
      },
    },
    bytes,
    calls: {
      made: calls.made,
      failed: calls.failed,
      retried: calls.retried,
      failures_by_reason: { ...calls.failuresByReason },
      ended: calls.ended,
      elapsed_ms: Math.round(calls.elapsedMs),
    },
    items,
    ...(missed !== undefined && { missed_changes: missed }),
    ...(followed && { followed: { behind_seconds: Math.round(followed.behindSeconds) } }),
    failures: failures.map(describeFailure),
    settings: settingsOf(options),
  }
}

const describeFailure = ({ reason, at, detail }: Failure) => ({ reason, at: timeOf(at), detail })

const settingsOf = (options: UpstreamOptions): SourceDetailsJson['settings'] => ({
  url: options.url,
  kind: options.kind,
  visibility: options.visibility,
  priority: options.priority,
  api_key: options.key !== null,
  protocol: options.pin === null ? 'plain' : 'signed',
  ...(options.pin !== null && { authority: options.pin.authority }),
  timeout_ms: options.timeoutMs,
  connect_timeout_ms: options.connectTimeoutMs,
  max_in_flight: options.maxInFlight,
  refresh_seconds: options.refreshSeconds,
  full_refresh_seconds: options.fullRefreshSeconds,
  ...(options.maxAgeSeconds !== null && { max_age_seconds: options.maxAgeSeconds }),
  ...(options.maxListings !== null && { max_listings: options.maxListings }),
  allow_private_addresses: options.allowPrivateAddresses,
})
