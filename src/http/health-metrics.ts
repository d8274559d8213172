import { Counter, Gauge, type Registry as MetricsRegistry } from 'prom-client'

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
