import { at, type JsonValue, textAt } from '../json/value.ts'
import type { SourceReport } from '../wire/source.ts'

export const readReports = (body: JsonValue): SourceReport[] => listAt(body, 'sources').map(readReport)

const readReport = (entry: JsonValue): SourceReport => ({
  registry: textAt(entry, 'registry') ?? '?',
  state: STATES.find((state) => state === textAt(entry, 'state')) ?? 'unavailable',
  reason: textAt(entry, 'reason') ?? undefined,
  filters: listAt(entry, 'filters').map(String),
  matched: numberAt(entry, 'matched'),
  age_seconds: numberAt(entry, 'age_seconds') ?? undefined,
  invalid: numberAt(entry, 'invalid') ?? undefined,
})

const STATES = ['loaded', 'stale', 'unavailable', 'not_yet_loaded', 'skipped'] as const

export function listAt(value: JsonValue, ...path: readonly string[]): JsonValue[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

export function numberAt(value: JsonValue, ...path: readonly string[]): number | null {
  const found = at(value, ...path)
  return typeof found === 'number' ? found : null
}
