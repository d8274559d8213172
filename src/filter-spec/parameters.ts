import { EntrepotError } from '../errors.ts'
import type { Criterion } from './criteria.ts'
import type { FilterSpec, OnMissing } from './filter.ts'
import { readBoolean } from './literal.ts'
import { parseTest } from './parse-test.ts'
import { quote, refuse } from './refusal.ts'
import { OVERRIDE_PREFIX } from './reserved.ts'

/**
 * docs/protocol.md#6-filters. `pairs` are decoded, without reserved parameters. The last value of a name
 * counts, at its first position; an empty one is ignored, even of an unknown filter.
 * @throws EntrepotError `bad_request` for the first wrong parameter
 */
export function parseCriteria(
  spec: Pick<FilterSpec, 'filters'>,
  pairs: readonly (readonly [name: string, value: string])[],
): Criterion[] {
  const parameters = new Map(pairs)
  const overrides = readOverrides(spec, parameters)
  const criteria: Criterion[] = []
  for (const [name, value] of parameters) {
    if (value === '' || name.startsWith(OVERRIDE_PREFIX)) continue
    const filter = spec.filters.get(name)
    if (filter === undefined) throw new EntrepotError('bad_request', `unknown filter: ${quote(name)}`)
    const onMissing = overrides.get(name) ?? filter.on_missing
    criteria.push({ filter, onMissing, test: parseTest(filter, value) })
  }
  return criteria
}

/** `strict.NAME=true` drops listings without the field; `false` keeps them. */
function readOverrides(
  spec: Pick<FilterSpec, 'filters'>,
  parameters: ReadonlyMap<string, string>,
): Map<string, OnMissing> {
  const overrides = new Map<string, OnMissing>()
  for (const [parameter, value] of parameters) {
    if (!parameter.startsWith(OVERRIDE_PREFIX)) continue
    const name = parameter.slice(OVERRIDE_PREFIX.length)
    if (name === '') return refuse(parameter, 'missing filter name')
    if (!spec.filters.has(name)) return refuse(parameter, 'unknown filter')
    const strict = readBoolean(value) ?? refuse(parameter, `expected boolean, got ${quote(value)}`)
    overrides.set(name, strict ? 'fail' : 'pass')
  }
  return overrides
}
