import { Counter, Gauge, Registry as MetricsRegistry } from 'prom-client'
import { z } from 'zod'
import type { Route } from './route.ts'
import { registerSourceMetrics } from './source-metrics.ts'
import type { SourceBook } from './sources.ts'

/** Where everything that is counted is registered. `sources`: as they are when it is read; none without upstreams. */
export const createMetrics = (sources: () => SourceBook['sources']): MetricsRegistry => {
  const registry = new MetricsRegistry()
  registerProcess(registry)
  registerSourceMetrics(registry, sources)
  return registry
}

/** Names as every Prometheus client library has them. */
const registerProcess = (registry: MetricsRegistry): void => {
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

/** `GET /metrics` (`contract.md` 3.2): for the operator, or for anybody where `METRICS_PUBLIC` says so. */
export const getMetrics = (registry: MetricsRegistry, isPublic: boolean): Route => ({
  method: 'GET',
  path: '/metrics',
  gate: isPublic ? 'none' : 'admin',
  summary: 'What has been counted, as Prometheus reads it',
  answers: { 200: { description: 'Prometheus text format', schema: z.string(), type: 'text/plain' } },
  handle: async () => ({
    type: registry.contentType,
    body: await registry.metrics(),
    headers: { 'Cache-Control': 'no-store' },
  }),
})
