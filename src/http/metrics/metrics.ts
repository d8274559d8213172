import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry as MetricsRegistry } from 'prom-client'

/** Of histograms, in seconds. */
export const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function createMetrics(version: string): MetricsRegistry {
  const registry = new MetricsRegistry()
  new Gauge({
    name: 'entrepot_build_info',
    help: '1, with the version of this process',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version }, 1)
  gauge(registry, 'process_resident_memory_bytes', 'Resident memory size in bytes', () =>
    process.memoryUsage.rss(),
  )
  counter(registry, 'process_cpu_seconds_total', 'Total user and system CPU time spent in seconds', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  gauge(
    registry,
    'process_start_time_seconds',
    'Start time of the process since the Unix epoch in seconds',
    () => performance.timeOrigin / 1000,
  )
  return registry
}

const DELAY_RESOLUTION_MS = 20
const DELAY_PERCENTILES = [50, 99, 100]

/** Measures from scrape to scrape. Returns how to stop. */
export function registerEventLoopMetrics(registry: MetricsRegistry): () => void {
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })
  delay.enable()
  new Gauge({
    name: 'entrepot_event_loop_delay_seconds',
    help: 'How late timers ran since the previous scrape, by percentile',
    labelNames: ['percentile'],
    registers: [registry],
    collect() {
      // Node records the whole time between two runs of its timer.
      for (const percentile of DELAY_PERCENTILES)
        this.set({ percentile }, Math.max(0, delay.percentile(percentile) / 1e9 - DELAY_RESOLUTION_MS / 1000))
      delay.reset()
    },
  })
  return () => delay.disable()
}

/** Returns the function that counts a call of the store. */
export function createStoreMetrics(
  registry: MetricsRegistry,
  operations: readonly string[],
): (operation: string, seconds: number, isFailure: boolean) => void {
  const common = { labelNames: ['operation' as const], registers: [registry] }
  const durations = new Histogram({
    ...common,
    name: 'entrepot_store_duration_seconds',
    help: 'Time of calls of the store, by operation',
    buckets: BUCKETS,
  })
  const failures = new Counter({
    ...common,
    name: 'entrepot_store_failures_total',
    help: 'Calls of the store that failed because it was unavailable, by operation',
  })
  for (const operation of operations) {
    durations.zero({ operation })
    failures.inc({ operation }, 0)
  }
  return (operation, seconds, isFailure) => {
    durations.observe({ operation }, seconds)
    if (isFailure) failures.inc({ operation })
  }
}

export function registerHealthMetrics(
  registry: MetricsRegistry,
  { store, droppedLogLines }: { store: { ping(): Promise<void> }; droppedLogLines: () => number },
): void {
  gauge(registry, 'entrepot_store_available', '1 if the store can be written, else 0', () =>
    store.ping().then(
      () => 1,
      () => 0,
    ),
  )
  counter(
    registry,
    'entrepot_log_lines_dropped_total',
    'Log lines that could not be written',
    droppedLogLines,
  )
}

/** `at`: the last successful load, in ms since the Unix epoch. */
type ReloadState = { succeeded: boolean; at: number }

export function registerReloadMetrics(registry: MetricsRegistry, state: () => ReloadState): void {
  gauge(
    registry,
    'entrepot_config_last_reload_successful',
    '1 if the latest load of the configuration succeeded, else 0',
    () => (state().succeeded ? 1 : 0),
  )
  gauge(
    registry,
    'entrepot_config_last_reload_success_timestamp_seconds',
    'Unix time at which the current configuration was loaded, in seconds',
    () => state().at / 1000,
  )
}

export function registerIndexMetrics(registry: MetricsRegistry, inconsistencies: () => number): void {
  counter(
    registry,
    'entrepot_index_inconsistencies_total',
    'Copies of listings that are shown or hidden otherwise than a new decision says: some are checked each minute',
    inconsistencies,
  )
}

const gauge = (
  registry: MetricsRegistry,
  name: string,
  help: string,
  read: () => number | Promise<number>,
): unknown =>
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      this.set(await read())
    },
  })

const counter = (registry: MetricsRegistry, name: string, help: string, read: () => number): unknown =>
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })

type ChangesState = { watchers: number; entries: number }

export function registerChangesMetrics(registry: MetricsRegistry, state: () => ChangesState): void {
  new Gauge({
    name: 'entrepot_watchers',
    help: 'Requests that wait for changes, streams included',
    registers: [registry],
    collect() {
      this.set(state().watchers)
    },
  })
  new Counter({
    name: 'entrepot_changes_total',
    help: 'Entries of the log of changes that were read',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(state().entries)
    },
  })
}
