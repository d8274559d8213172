import { suggestName } from '../domain/nearest-name.ts'
import { PRICE_PARAMETERS } from '../domain/price/price-parameters.ts'
import { EntrepotError } from '../errors.ts'
import type { Criterion } from './criteria.ts'
import type { Filter, FilterSpec, OnMissing } from './filter.ts'
import { listNames, parseTest, quote, readBoolean, refuseParameter } from './parse-test.ts'

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
    if (filter === undefined) return refuseUnknownFilter(name, [...spec.filters.keys()])
    const onMissing = overrides.get(name) ?? filter.on_missing
    criteria.push({ filter, onMissing, test: parseTest(filter, value) })
  }
  return criteria
}

/** `detail` has the deployed protocol's words, so `errors` has the suggestion. @throws EntrepotError `bad_request` */
export function refuseUnknownFilter(name: string, known: readonly string[]): never {
  const message = suggestName(name, known).slice(2) || `known are ${listNames(known)}`
  throw new EntrepotError('bad_request', `unknown filter: ${quote(name)}`, {
    errors: known.length === 0 ? [] : [{ path: name, message }],
  })
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
    if (name === '') return refuseParameter(parameter, 'missing filter name')
    if (!spec.filters.has(name)) return refuseParameter(parameter, 'unknown filter')
    const strict = readBoolean(value) ?? refuseParameter(parameter, `expected boolean, got ${quote(value)}`)
    overrides.set(name, strict ? 'fail' : 'pass')
  }
  return overrides
}

/** Parameters of a Registry's `GET /listings` that are not filters. */
export const REGISTRY_PARAMETERS: ReadonlySet<string> = new Set([
  'status',
  'limit',
  'offset',
  'publisher',
  ...PRICE_PARAMETERS,
])

export const GATEWAY_PARAMETERS: ReadonlySet<string> = new Set([
  ...REGISTRY_PARAMETERS,
  'require',
  'timeout_ms',
  'sources',
  'explain',
  'cursor',
])

export const OVERRIDE_PREFIX = 'strict.'

export const filterNameOf = (parameter: string): string =>
  parameter.startsWith(OVERRIDE_PREFIX) ? parameter.slice(OVERRIDE_PREFIX.length) : parameter

/** As deployed: `&` alone separates, bare names have an empty value, bad UTF-8 is U+FFFD. Never throws. */
export const decodeQuery = (queryString: string): [name: string, value: string][] => [
  // URLSearchParams would drop a leading `?`, which belongs to the first name.
  ...new URLSearchParams(`&${queryString}`),
]

/** Names of the filters that the source does not apply. */
export function unsentFilters({
  criteria,
  filters,
}: {
  criteria: readonly Criterion[]
  filters: readonly (readonly [name: string, value: string])[]
}): string[] {
  return criteria
    .map(({ filter }) => filter.name)
    .filter((name) => !filters.some(([parameter]) => filterNameOf(parameter) === name))
}

type Described = Pick<Filter, 'name' | 'path' | 'op' | 'alias_kind' | 'on_missing'>

/** One line for people and agents: which listings a filter keeps, and how to write its value. */
export function describeFilter({ name, path, on_missing, ...filter }: Described): string {
  const [kept, other] = on_missing === 'pass' ? ['kept', true] : ['dropped', false]
  return `${path} ${meaning(filter)}. Listings without it are ${kept}; ${OVERRIDE_PREFIX}${name}=${other} inverts this`
}

function meaning({ op, alias_kind }: Pick<Filter, 'op' | 'alias_kind'>): string {
  switch (op) {
    case 'in':
      return 'is the value, or one of in:[a,b]'
    case 'not_in':
      return 'is not one of not_in:[a,b]'
    case 'exists':
      return 'exists with exists:true, is absent with exists:false'
    case 'range':
      if (alias_kind === null) return 'is within a range such as range:[16,128] or range:[16,)'
      return `is ${alias_kind === 'lower_bound' ? 'at least' : 'at most'} the value, or within range:[16,128]`
  }
}
