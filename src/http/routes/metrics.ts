import type { Registry as MetricsRegistry } from 'prom-client'
import { z } from 'zod'
import { maySee, type Reader } from '../../domain/reader.ts'
import { NO_STORE, type Route } from '../route.ts'
import type { SourceList } from './sources.ts'

export type MetricsOptions = {
  metrics: MetricsRegistry
  /** Readable without a key, except for the series of sources that such a reader does not see. */
  metricsPublic: boolean
  /** Whether the key opens all series. */
  mayReadMetrics?: (authorization: string | undefined) => boolean
  /** `null`: such a reader sees nothing. */
  anonymous: Reader | null
  sources: SourceList['sources']
}

export const metricsRoutes = ({
  metrics,
  metricsPublic,
  mayReadMetrics = () => false,
  anonymous,
  sources,
}: MetricsOptions): Route[] => [
  {
    method: 'GET',
    path: '/metrics',
    gate: metricsPublic ? 'none' : 'metrics',
    summary: 'Prometheus metrics',
    responses: { 200: { description: 'Prometheus text format', schema: z.string(), type: 'text/plain' } },
    handle: async ({ header }) => {
      const text = await metrics.metrics()
      const seesAll = !metricsPublic || mayReadMetrics(header('authorization'))
      return {
        type: metrics.contentType,
        body: seesAll ? text : omitHiddenSeries(text, sources, anonymous),
        headers: NO_STORE,
      }
    },
  },
]

/** Counts of a source are of all its listings, so a reader of some sees no series of sources. */
function omitHiddenSeries(text: string, sources: SourceList['sources'], reader: Reader | null): string {
  const labels = sources
    .map(({ status }) => status())
    .filter((status) => reader === null || reader.filter.key !== '' || !maySee(reader, status))
    .map(({ name }) => `registry="${name}"`)
  const lines = text.split('\n').filter((line) => !labels.some((label) => line.includes(label)))
  return lines.join('\n')
}
