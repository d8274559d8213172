import type { JsonValue } from '../../../json/value.ts'
import { textAt } from '../../../json/value.ts'
import type { SourceReport } from '../../../wire/source.ts'
import { listAt, numberAt } from '../../common/source-report.ts'

export type KnownSource = {
  /** `null` if the answer does not name it. */
  report: SourceReport | null
  registry: string
  mode: string
  visibility: string
  state: string
  ageSeconds: number | null
  lastError: string | null
}

export const readStatuses = (body: JsonValue): Omit<KnownSource, 'report'>[] =>
  listAt(body, 'sources').map((entry) => ({
    registry: textAt(entry, 'registry') ?? '?',
    mode: textAt(entry, 'mode') ?? '',
    visibility: textAt(entry, 'visibility') ?? '',
    state: textAt(entry, 'state') ?? '',
    ageSeconds: numberAt(entry, 'age_seconds'),
    lastError: textAt(entry, 'last_error', 'reason'),
  }))

/** In the gateway's order, then those that only the answer names. */
export function joinSources(
  statuses: readonly Omit<KnownSource, 'report'>[],
  reports: readonly SourceReport[],
): KnownSource[] {
  const known = statuses.map((status) => ({
    ...status,
    report: reports.find(({ registry }) => registry === status.registry) ?? null,
  }))
  const names = new Set(statuses.map(({ registry }) => registry))
  const others = reports
    .filter(({ registry }) => !names.has(registry))
    .map((report) => ({ ...UNKNOWN, registry: report.registry, state: report.state, report }))
  return [...known, ...others]
}

const UNKNOWN = { mode: '', visibility: '', ageSeconds: null, lastError: null }
