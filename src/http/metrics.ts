import { Counter, Gauge, Registry as MetricsRegistry } from 'prom-client'
import { z } from 'zod'
import type { Route } from './route.ts'
import { registerSourceMetrics } from './source-metrics.ts'
import type { SourceBook } from './sources.ts'

/** `sources` is read at every scrape. */
export function createMetrics(sources: () => SourceBook['sources']): MetricsRegistry {
  const registry = new MetricsRegistry()
  registerProcess(registry)
  registerSourceMetrics(registry, sources)
  return registry
}

function registerProcess(registry: MetricsRegistry): void {
  const registers = [registry]
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory size in bytes',
    registers,
    collect() {
      this.set(process.memoryUsage.rss())
    },
  })
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Total user and system CPU time spent in seconds',
    registers,
    collect() {
      const { user, system } = process.cpuUsage()
      this.reset()
      this.inc((user + system) / 1e6)
    },
  })
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the process since the Unix epoch in seconds',
    registers,
    collect() {
      this.set(performance.timeOrigin / 1000)
    },
  })
}

export type MetricsOptions = {
  metrics: MetricsRegistry
  /** Readable without a key, except for the series of private sources. */
  metricsPublic: boolean
  isOperator?: (authorization: string | undefined) => boolean
  gateway: SourceBook | null
}

export function getMetrics({
  metrics,
  metricsPublic,
  isOperator = () => false,
  gateway,
}: MetricsOptions): Route {
  return {
    method: 'GET',
    path: '/metrics',
    gate: metricsPublic ? 'none' : 'admin',
    summary: 'Prometheus metrics',
    answers: { 200: { description: 'Prometheus text format', schema: z.string(), type: 'text/plain' } },
    handle: async ({ header }) => {
      const text = await metrics.metrics()
      const isWhole = !metricsPublic || isOperator(header('authorization'))
      return {
        type: metrics.contentType,
        body: isWhole ? text : withoutPrivate(text, gateway?.sources ?? []),
        headers: { 'Cache-Control': 'no-store' },
      }
    },
  }
}

function withoutPrivate(text: string, sources: SourceBook['sources']): string {
  const labels = sources
    .map(({ status }) => status())
    .filter(({ visibility }) => visibility === 'private')
    .map(({ name }) => `registry="${name}"`)
  const lines = text.split('\n').filter((line) => !labels.some((label) => line.includes(label)))
  return lines.join('\n')
}
