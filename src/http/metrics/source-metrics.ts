import { Counter, Gauge, type Registry as MetricsRegistry } from 'prom-client'
import type { SourceDetails, SourceStatus } from '../../domain/source/source-status.ts'
import type { SourceList } from '../routes/sources.ts'

/**
 * `sources` is read at every scrape.
 * @param changedAt when a source had its newest change, in ms since the Unix epoch
 */
export function registerSourceMetrics(
  registry: MetricsRegistry,
  sources: () => SourceList['sources'],
  changedAt: (source: string) => number | undefined,
): void {
  const statuses = (): Status[] => sources().map(({ status }) => status())
  registerUpstreamCounters(registry, () => statuses().filter((status) => 'calls' in status))
  registerGauges(registry, statuses, changedAt)
}

type Status = SourceStatus | SourceDetails
type Counts = Readonly<Record<string, number>>

const STATES = {
  loaded: 1,
  stale: 0.5,
  loading: 0.5,
  partial: 0.5,
  unavailable: 0,
  not_yet_loaded: 0,
} as const
const BREAKER_STATES = { closed: 0, half_open: 0.5, open: 1 } as const

function registerUpstreamCounters(registry: MetricsRegistry, upstreams: () => SourceDetails[]): void {
  const counter = (
    name: string,
    help: string,
    label: string | null,
    read: (status: SourceDetails) => Counts,
  ): void => {
    new Counter({
      name: `entrepot_source_${name}_total`,
      help,
      labelNames: label === null ? ['registry'] : ['registry', label],
      registers: [registry],
      collect() {
        this.reset()
        for (const status of upstreams())
          for (const [kind, count] of Object.entries(read(status)))
            this.inc({ registry: status.name, ...(label === null ? {} : { [label]: kind }) }, count)
      },
    })
  }

  counter('calls', 'Requests to an upstream', null, ({ calls }) => ({ made: calls.made }))
  counter('failures', 'Failed requests, by reason', 'reason', ({ calls }) => calls.failuresByReason)
  counter('retries', 'Retried requests', null, ({ calls }) => ({ retried: calls.retried }))
  counter('items', 'Listings received', null, ({ items }) => ({ received: items.received }))
  counter('invalid_items', 'Malformed listings received', null, ({ items }) => ({
    invalid: items.invalid,
  }))
  counter('feed_failures', 'Streams of changes that have broken off, by reason', 'reason', (status) => ({
    ...status.feedFailures,
  }))
  counter('missed_changes', 'Listings that a stream of changes had missed', null, (status) => ({
    missed: status.missedChanges ?? 0,
  }))
}

function registerGauges(
  registry: MetricsRegistry,
  statuses: () => Status[],
  changedAt: (source: string) => number | undefined,
): void {
  const gauge = (name: string, help: string, read: (status: Status) => number | null): void => {
    new Gauge({
      name: `entrepot_source_${name}`,
      help,
      labelNames: ['registry'],
      registers: [registry],
      collect() {
        this.reset()
        for (const status of statuses()) {
          const value = read(status)
          if (value !== null) this.set({ registry: status.name }, value)
        }
      },
    })
  }

  gauge('state', '1 loaded; 0.5 stale, loading or partial; 0 otherwise', ({ state }) => STATES[state])
  gauge('breaker_state', '0 closed, 0.5 half open, 1 open', (status) =>
    'breaker' in status ? BREAKER_STATES[status.breaker.state] : null,
  )
  gauge('age_seconds', 'Age of what is held, in seconds', ({ ageSeconds }) => ageSeconds)
  gauge('listings', 'Open listings that are held', ({ listings }) => listings)
  gauge('gaps', 'Sources that its latest answer reports as missing', (status) =>
    'calls' in status ? (status.missing?.length ?? 0) : null,
  )
  gauge('changed_timestamp_seconds', 'Unix time of its newest change in the log of changes', ({ name }) => {
    const at = changedAt(name)
    return at === undefined ? null : at / 1000
  })
  gauge('behind_seconds', 'Seconds since its stream of changes was heard', (status) =>
    'followed' in status ? (status.followed?.behindSeconds ?? null) : null,
  )
  gauge('held_bytes', 'Memory of its listings', (status) => ('bytes' in status ? status.bytes : null))
  gauge('tls_expiry_seconds', 'Unix time at which its TLS certificate ends, in seconds', (status) =>
    'certificateEndsAt' in status && status.certificateEndsAt !== null
      ? status.certificateEndsAt / 1000
      : null,
  )
}
