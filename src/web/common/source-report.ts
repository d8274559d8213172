import type { JsonValue } from '../../domain/json.ts'
import { at, textAt } from '../../domain/json-at.ts'

/** How one source answered: an entry of `sources` in an answer. */
export type SourceReport = {
  /** A source of this gateway, or `eu/curated` of what the gateway `eu` has not reached; `eu/*` where it did not say. */
  registry: string
  /** `loaded`, `stale`, `unavailable`, `not_yet_loaded` or `skipped`. */
  state: string
  reason: string | null
  /** Which it cannot take. */
  filters: readonly string[]
  /** Its matches, before any are folded into another source's. */
  matched: number | null
  ageSeconds: number | null
}

/** The `sources` of an answer or of a problem; none where it has none. */
export const readReports = (body: JsonValue): SourceReport[] => listAt(body, 'sources').map(readReport)

const readReport = (entry: JsonValue): SourceReport => ({
  registry: textAt(entry, 'registry') ?? '?',
  state: textAt(entry, 'state') ?? 'unavailable',
  reason: textAt(entry, 'reason'),
  filters: listAt(entry, 'filters').map((name) => String(name)),
  matched: numberAt(entry, 'matched'),
  ageSeconds: numberAt(entry, 'age_seconds'),
})

export const listAt = (value: JsonValue, ...path: readonly string[]): JsonValue[] => {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

export const numberAt = (value: JsonValue, ...path: readonly string[]): number | null => {
  const found = at(value, ...path)
  return typeof found === 'number' ? found : null
}
