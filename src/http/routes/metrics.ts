import type { Registry as MetricsRegistry } from 'prom-client'
import { z } from 'zod'
import { NO_STORE, type Route } from '../route.ts'
import type { SourceList } from './sources.ts'

export type MetricsOptions = {
  metrics: MetricsRegistry
  /** Readable without a key, except for the series of private sources. */
  metricsPublic: boolean
  /** Whether the key opens the series of private sources. */
  mayReadMetrics?: (authorization: string | undefined) => boolean
  sources: SourceList['sources']
}

export const metricsRoutes = ({
  metrics,
  metricsPublic,
  mayReadMetrics = () => false,
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
        body: seesAll ? text : omitPrivateSeries(text, sources),
        headers: NO_STORE,
      }
    },
  },
]

function omitPrivateSeries(text: string, sources: SourceList['sources']): string {
  const labels = sources
    .map(({ status }) => status())
    .filter(({ visibility }) => visibility === 'private')
    .map(({ name }) => `registry="${name}"`)
  const lines = text.split('\n').filter((line) => !labels.some((label) => line.includes(label)))
  return lines.join('\n')
}
