import { z } from 'zod'
import type { SourceDetails, SourceStatus } from '../../domain/source/source-status.ts'
import { EntrepotError } from '../../errors.ts'
import { reportStatus, timeOf } from '../../gateway/source-report.ts'
import { maySee } from '../../gateway/sources.ts'
import { type SourceDetailsJson, sourceDetailsSchema, sourceStatusSchema } from '../../wire/source.ts'
import { json, type Route, type RouteParameter } from '../route.ts'

export type SourceList = {
  /** In configuration order. */
  sources: readonly { status: () => SourceStatus | SourceDetails; refresh?: () => void }[]
}

export const sourceRoutes = (list: SourceList): Route[] => [
  listSources(list),
  listSourceDetails(list),
  refreshSource(list),
]

const listSources = ({ sources }: SourceList): Route => ({
  method: 'GET',
  path: '/sources',
  gate: 'read',
  summary: 'State of the sources that the reader may see',
  responses: {
    200: {
      description: 'The sources, in the order of the configuration',
      schema: z.object({ sources: z.array(sourceStatusSchema) }),
    },
  },
  handle: ({ reader }) => {
    const visible = sources.map(({ status }) => status()).filter((status) => maySee(reader, status))
    const headers = { 'Cache-Control': 'no-store', Vary: 'Authorization' }
    return { ...json({ sources: visible.map(reportStatus) }), headers }
  },
})

const listSourceDetails = ({ sources }: SourceList): Route => ({
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
  handle: () => ({
    ...json({ sources: sources.map(({ status }) => detailsToJson(status())) }),
    headers: { 'Cache-Control': 'no-store' },
  }),
})

const NAME: RouteParameter = {
  name: 'name',
  in: 'path',
  description: 'Name of the upstream',
  schema: { type: 'string' },
}

const refreshSource = ({ sources }: SourceList): Route => ({
  method: 'POST',
  path: '/admin/sources/:name/refresh',
  gate: 'admin',
  summary: 'Drop the cached pages of an upstream and fetch it again',
  parameters: [NAME],
  responses: {
    202: { description: 'Its pages are dropped; its filter spec and snapshot are being fetched' },
  },
  problems: [404],
  handle: ({ params }) => {
    const source = sources.find(({ status }) => status().name === params.name)
    if (source?.refresh === undefined)
      throw new EntrepotError('not_found', `There is no upstream ${JSON.stringify(params.name)}`)
    source.refresh()
    return { status: 202 }
  },
})

function detailsToJson(status: SourceStatus | SourceDetails): SourceDetailsJson {
  if (!('calls' in status)) return reportStatus(status)
  const { breaker, cache, calls, items } = status
  return {
    ...reportStatus(status),
    breaker: {
      state: breaker.state,
      failures_in_a_row: breaker.failuresInARow,
      retry_at: breaker.retryAt === null ? null : timeOf(breaker.retryAt),
    },
    cache,
    calls: {
      made: calls.made,
      failed: calls.failed,
      retried: calls.retried,
      failures_by_reason: { ...calls.failuresByReason },
      ended: calls.ended,
      elapsed_ms: Math.round(calls.elapsedMs),
    },
    items,
  }
}
