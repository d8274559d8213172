import { gapsAmong } from '../domain/gap.ts'
import type { JsonValue } from '../domain/json.ts'
import { textAt } from '../domain/json-at.ts'
import { isRegistryName } from '../domain/registry-name.ts'
import type { SourceNote } from '../gateway/discovery.ts'
import type { Inspection } from './inspect-registry.ts'

/** More names are not repeated of one gateway. */
const MAX_BEHIND = 100

/** What an agent is told of a Registry's health, and of what stands behind it. */
export const noteOn = (inspection: Inspection): SourceNote => {
  const { registry } = inspection
  if ('error' in inspection)
    return {
      registry,
      state: 'unavailable',
      ...(inspection.unauthorized ? { reason: 'unauthorized' } : {}),
      detail: inspection.error,
    }
  const { kind, sources } = inspection
  if (kind === 'registry') return { registry, kind, state: textAt(sources, 0, 'state') ?? 'unavailable' }
  const gaps = gapsAmong(sources)
  return { registry, kind, state: 'loaded', behind: namesOf(sources), ...(gaps.length > 0 ? { gaps } : {}) }
}

/** Of what a stranger tells of the Registries behind it, the names. */
const namesOf = (sources: JsonValue): string[] =>
  Array.isArray(sources)
    ? sources
        .map((source) => textAt(source, 'registry'))
        .filter(isRegistryName)
        .slice(0, MAX_BEHIND)
    : []

/** With what went wrong there, in a sentence. `faults` by the Registry's URL. */
export const detailed = (source: SourceNote, faults: ReadonlyMap<string, string>): SourceNote => {
  const detail = faults.get(source.registry)
  return detail === undefined ? source : { ...source, detail }
}
