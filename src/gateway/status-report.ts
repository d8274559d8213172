import type { MissingSource } from '../domain/missing-source.ts'
import type { SourceStatus } from '../domain/source-status.ts'
import { reportMissing } from './source-report.ts'

/** An entry of `GET /sources`. */
export const reportStatus = ({ name, mode, visibility, state, ...status }: SourceStatus) => ({
  registry: name,
  mode,
  visibility,
  state,
  age_seconds: status.ageSeconds === null ? null : Math.floor(status.ageSeconds),
  last_error:
    status.lastError === null ? null : { reason: status.lastError.reason, at: timeOf(status.lastError.at) },
  schema_id: status.schemaId,
  filters: status.filters,
  listings: status.listings,
  ...(status.missing === undefined
    ? {}
    : { gaps: status.missing.map((entry) => describeMissingSource(name, entry)) }),
})

function describeMissingSource(name: string, missing: MissingSource) {
  const { matched: _, returned: __, ...note } = reportMissing(name, missing)
  return note
}

/** ISO 8601, of ms since the Unix epoch. */
export const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString()
