import { Gauge, type Registry as MetricsRegistry } from 'prom-client'

/** `at`: the last successful load, in ms since the Unix epoch. */
type ReloadState = { wentWell: boolean; at: number }

export function registerReloadMetrics(registry: MetricsRegistry, state: () => ReloadState): void {
  const registers = [registry]
  new Gauge({
    name: 'entrepot_config_last_reload_successful',
    help: '1 where the latest reload of the configuration went well, the start included; else 0',
    registers,
    collect() {
      this.set(state().wentWell ? 1 : 0)
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
