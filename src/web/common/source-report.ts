import { at, type JsonValue, textAt } from '../../json/value.ts'

export type SourceReport = {
  /** `eu/curated` is what the gateway `eu` misses; `eu/*` if it does not name it. */
  registry: string
  /** `loaded`, `stale`, `unavailable`, `not_yet_loaded` or `skipped`. */
  state: string
  reason: string | null
  /** Filters that the source does not know. */
  filters: readonly string[]
  /** Before copies are merged. */
  matched: number | null
  ageSeconds: number | null
}

export const readReports = (body: JsonValue): SourceReport[] => listAt(body, 'sources').map(readReport)

const readReport = (entry: JsonValue): SourceReport => ({
  registry: textAt(entry, 'registry') ?? '?',
  state: textAt(entry, 'state') ?? 'unavailable',
  reason: textAt(entry, 'reason'),
  filters: listAt(entry, 'filters').map((name) => String(name)),
  matched: numberAt(entry, 'matched'),
  ageSeconds: numberAt(entry, 'age_seconds'),
})

export function listAt(value: JsonValue, ...path: readonly string[]): JsonValue[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

export function numberAt(value: JsonValue, ...path: readonly string[]): number | null {
  const found = at(value, ...path)
  return typeof found === 'number' ? found : null
}
