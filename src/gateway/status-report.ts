import type { Gap } from '../domain/gap.ts'
import type { SourceStatus } from '../domain/source-status.ts'
import { reportGap } from './source-report.ts'

/** How a source is doing, as it is sent: an entry of `GET /sources` (`contract.md` 3.2). */
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
  ...(status.gaps === undefined ? {} : { gaps: status.gaps.map((gap) => noteGap(name, gap)) }),
})

/** What a gateway behind this one has not reached, as its answers say. */
export const noteGap = (name: string, gap: Gap) => {
  const { matched: _, returned: __, ...note } = reportGap(name, gap)
  return note
}

/** Milliseconds since the Unix epoch in ISO 8601. */
export const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString()
