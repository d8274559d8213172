import { Counter, Gauge, Registry as MetricsRegistry } from 'prom-client'
import { z } from 'zod'
import type { Route } from '../route.ts'
import type { SourceList } from '../routes/sources.ts'
import { registerSourceMetrics } from './source-metrics.ts'

/** `sources` is read at every scrape. */
export function createMetrics(sources: () => SourceList['sources']): MetricsRegistry {
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
  gateway: SourceList | null
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
    responses: { 200: { description: 'Prometheus text format', schema: z.string(), type: 'text/plain' } },
    handle: async ({ header }) => {
      const text = await metrics.metrics()
      const isWhole = !metricsPublic || isOperator(header('authorization'))
      return {
        type: metrics.contentType,
        body: isWhole ? text : omitPrivateSeries(text, gateway?.sources ?? []),
        headers: { 'Cache-Control': 'no-store' },
      }
    },
  }
}

function omitPrivateSeries(text: string, sources: SourceList['sources']): string {
  const labels = sources
    .map(({ status }) => status())
    .filter(({ visibility }) => visibility === 'private')
    .map(({ name }) => `registry="${name}"`)
  const lines = text.split('\n').filter((line) => !labels.some((label) => line.includes(label)))
  return lines.join('\n')
}

export function registerHealthMetrics(
  registry: MetricsRegistry,
  { store, droppedLogLines }: { store: { ping(): Promise<void> }; droppedLogLines: () => number },
): void {
  const registers = [registry]
  new Gauge({
    name: 'entrepot_store_available',
    help: '1 where the store can be written, 0 where it cannot',
    registers,
    async collect() {
      this.set(
        await store.ping().then(
          () => 1,
          () => 0,
        ),
      )
    },
  })
  new Counter({
    name: 'entrepot_log_lines_dropped_total',
    help: 'Log lines that could not be written',
    registers,
    collect() {
      this.reset()
      this.inc(droppedLogLines())
    },
  })
}

/** `at`: the last successful load, in ms since the Unix epoch. */
type ReloadState = { succeeded: boolean; at: number }

export function registerReloadMetrics(registry: MetricsRegistry, state: () => ReloadState): void {
  const registers = [registry]
  new Gauge({
    name: 'entrepot_config_last_reload_successful',
    help: '1 where the latest reload of the configuration went well, the start included; else 0',
    registers,
    collect() {
      this.set(state().succeeded ? 1 : 0)
    },
  })
  new Gauge({
    name: 'entrepot_config_last_reload_success_timestamp_seconds',
    help: 'When the configuration that is running was loaded, since the Unix epoch in seconds',
    registers,
    collect() {
      this.set(state().at / 1000)
    },
  })
}
