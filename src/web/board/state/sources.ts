import type { SourceReport, SourceStatusJson } from '../../../wire/source.ts'

/** `report`: how the source answered the query, if it was requested. */
export type KnownSource = Pick<SourceStatusJson, 'registry'> &
  Partial<SourceStatusJson> & { report: SourceReport | null }

/** In the gateway's order, then those that only the answer names. */
export function joinSources(
  statuses: readonly SourceStatusJson[],
  reports: readonly SourceReport[],
): KnownSource[] {
  const names = new Set(statuses.map(({ registry }) => registry))
  const known = statuses.map((status) => ({
    ...status,
    report: reports.find(({ registry }) => registry === status.registry) ?? null,
  }))
  const others = reports.filter(({ registry }) => !names.has(registry))
  return [...known, ...others.map((report) => ({ registry: report.registry, report }))]
}
