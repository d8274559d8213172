import { Counter, Gauge, Registry as MetricsRegistry } from 'prom-client'

export function createMetrics(): MetricsRegistry {
  const registry = new MetricsRegistry()
  registerProcess(registry)
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

export function registerHealthMetrics(
  registry: MetricsRegistry,
  { store, droppedLogLines }: { store: { ping(): Promise<void> }; droppedLogLines: () => number },
): void {
  const registers = [registry]
  new Gauge({
    name: 'entrepot_store_available',
    help: '1 if the store can be written, else 0',
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
    help: '1 if the latest load of the configuration succeeded, else 0',
    registers,
    collect() {
      this.set(state().succeeded ? 1 : 0)
    },
  })
  new Gauge({
    name: 'entrepot_config_last_reload_success_timestamp_seconds',
    help: 'Unix time at which the current configuration was loaded, in seconds',
    registers,
    collect() {
      this.set(state().at / 1000)
    },
  })
}
