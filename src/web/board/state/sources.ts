import { type JsonValue, textAt } from '../../../json/value.ts'
import type { SourceReport } from '../../../wire/source.ts'
import { listAt, numberAt } from '../../common/source-report.ts'

type ReadStatus = {
  registry: string
  mode: string
  visibility: string
  state: string
  ageSeconds: number | null
  lastError: string | null
}

/** `report`: how the source answered the query, if it was requested. */
export type KnownSource = ReadStatus & { report: SourceReport | null }

export const readStatuses = (body: JsonValue): ReadStatus[] =>
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
  statuses: readonly ReadStatus[],
  reports: readonly SourceReport[],
): KnownSource[] {
  const known = statuses.map((status) => ({
    ...status,
    report: reports.find(({ registry }) => registry === status.registry) ?? null,
  }))
  const names = new Set(statuses.map(({ registry }) => registry))
  const others = reports
    .filter(({ registry }) => !names.has(registry))
    .map((report) => ({ ...NO_STATUS, registry: report.registry, state: report.state, report }))
  return [...known, ...others]
}

const NO_STATUS = { mode: '', visibility: '', ageSeconds: null, lastError: null }
