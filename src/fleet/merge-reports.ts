import { sumMinutes, totalOf } from '../domain/minutes.ts'
import type { FleetJson } from '../wire/fleet.ts'
import type { SourceDetailsJson } from '../wire/source.ts'
import { toTraffic } from '../wire/traffic.ts'
import type { ReplicaReport } from './report.ts'
import { MAX_CHANGES } from './state-log.ts'

export type AgedReport = { report: ReplicaReport; ageSeconds: number }

const MAX_FAILURES = 20

/** All replicas as one. `now`: ms since the Unix epoch. */
export function mergeReports(
  reports: readonly AgedReport[],
  now: number,
): Pick<FleetJson, 'replicas' | 'traffic' | 'sources' | 'changes'> {
  const bySource = Map.groupBy(
    reports.flatMap(({ report }) => report.sources.map((source) => ({ ...source, replica: report.id }))),
    ({ details }) => details.registry,
  )
  return {
    replicas: reports.map((one) => describeReplica(one, now)),
    traffic: toTraffic(sumMinutes(reports.flatMap(({ report }) => report.minutes)), now),
    sources: [...bySource.values()].map((copies) => mergeSource(copies, now)),
    changes: reports
      .flatMap(({ report }) => report.changes.map((change) => ({ ...change, replica: report.id })))
      .sort((one, other) => other.at.localeCompare(one.at))
      .slice(0, MAX_CHANGES),
  }
}

function describeReplica({ report, ageSeconds }: AgedReport, now: number): FleetJson['replicas'][number] {
  const { id, version, startedAt, reload, minutes, watchers, inconsistencies, sources } = report
  const states = Object.groupBy(sources, ({ details }) => details.state)
  return {
    id,
    version,
    started_at: new Date(startedAt).toISOString(),
    age_seconds: Math.max(0, Math.floor(ageSeconds)),
    reload,
    total: toTraffic([totalOf(minutes)], now).total,
    watchers,
    inconsistencies,
    states: Object.fromEntries(Object.entries(states).map(([state, those]) => [state, those.length])),
  }
}

type Copy = ReplicaReport['sources'][number] & { replica: string }

/** The worst replica's details, with the sums of all. A replica that has not asked yet is not the worst. */
function mergeSource(copies: readonly Copy[], now: number): FleetJson['sources'][number] {
  const worst = copies.reduce((one, other) => (severity(other) > severity(one) ? other : one)).details
  const all = copies.map(({ details }) => details)
  const { breaker } = all.toSorted((one, other) => restraint(other) - restraint(one))[0]!
  const failures = all
    .flatMap((details) => details.failures ?? [])
    .sort((one, other) => other.at.localeCompare(one.at))
    .slice(0, MAX_FAILURES)
  return {
    ...worst,
    filters: all.find(({ filters }) => filters !== null)?.filters ?? null,
    ...(breaker && { breaker }),
    ...(worst.items && { items: sumOf(all, ({ items }) => items) }),
    ...(worst.calls && {
      calls: {
        ...sumOf(all, ({ calls }) => calls && { ...calls, failures_by_reason: 0 }),
        failures_by_reason: sumOf(all, ({ calls }) => calls?.failures_by_reason),
      },
    }),
    ...(worst.failures && { failures }),
    ...(worst.calls && { traffic: toTraffic(sumMinutes(copies.flatMap(({ minutes }) => minutes)), now) }),
    replicas: Object.fromEntries(copies.map(({ replica, details }) => [replica, details.state])),
  } as FleetJson['sources'][number]
}

const SEVERITY = { not_yet_loaded: 0, loaded: 1, partial: 2, loading: 2, stale: 2, unavailable: 3 } as const

const severity = ({ details }: Copy): number => SEVERITY[details.state]

/** A number that is higher the longer the circuit breaker rejects calls. */
function restraint({ breaker }: SourceDetailsJson): number {
  if (breaker === undefined) return 0
  if (breaker.state === 'open') return 3
  if (breaker.state === 'half_open' || breaker.suspended !== null) return 2
  return breaker.failures_in_a_row > 0 ? 1 : 0
}

function sumOf<Name extends string>(
  all: readonly SourceDetailsJson[],
  read: (details: SourceDetailsJson) => Readonly<Record<Name, number>> | undefined,
): Record<Name, number> {
  const sums: Record<string, number> = {}
  for (const details of all)
    for (const [name, value] of Object.entries<number>(read(details) ?? {}))
      sums[name] = (sums[name] ?? 0) + value
  return sums as Record<Name, number>
}
