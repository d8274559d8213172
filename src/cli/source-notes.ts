import { isJsonObject, type JsonValue } from '../domain/json.ts'
import { at, textAt } from '../domain/json-at.ts'
import { missingAmong } from '../domain/missing-source.ts'
import { isRegistryName } from '../domain/registry-name.ts'
import type { SourceNote } from '../gateway/discovery.ts'
import type { Inspection } from './inspect-registry.ts'

/** Per gateway. */
const MAX_BEHIND = 100

export function notesOn(inspection: Inspection): SourceNote[] {
  const { registry } = inspection
  if ('error' in inspection)
    return [
      {
        registry,
        state: 'unavailable',
        ...(inspection.unauthorized ? { reason: 'unauthorized' } : {}),
        detail: inspection.error,
      },
    ]
  const { kind, sources } = inspection
  if (kind === 'registry') return [{ registry, kind, state: textAt(sources, 0, 'state') ?? 'unavailable' }]
  const gaps = missingAmong(toldInFull(sources)).map((gap) => ({
    ...gap,
    registry: `${registry}/${gap.registry}`,
  }))
  return [{ registry, kind, state: 'loaded', behind: namesOf(sources) }, ...gaps]
}

/** Each source is followed by its missing sources. */
const toldInFull = (sources: JsonValue): JsonValue =>
  Array.isArray(sources)
    ? sources.flatMap((source) => {
        const gaps = at(source, 'gaps')
        const reason = textAt(source, 'reason') ?? textAt(source, 'last_error', 'reason')
        return [
          isJsonObject(source) && reason !== null ? { ...source, reason } : source,
          ...(Array.isArray(gaps) ? gaps : []),
        ]
      })
    : sources

/** Only the names, since the gateway is not trusted. */
const namesOf = (sources: JsonValue): string[] =>
  Array.isArray(sources)
    ? sources
        .map((source) => textAt(source, 'registry'))
        .filter(isRegistryName)
        .slice(0, MAX_BEHIND)
    : []

/** `faults` by the Registry's URL. */
export function detailed(source: SourceNote, faults: ReadonlyMap<string, string>): SourceNote {
  const detail = faults.get(source.registry)
  return detail === undefined ? source : { ...source, detail }
}
