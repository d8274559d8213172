import { Counter, Gauge, Registry as MetricsRegistry } from 'prom-client'

export function createMetrics(): MetricsRegistry {
  const registry = new MetricsRegistry()
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
