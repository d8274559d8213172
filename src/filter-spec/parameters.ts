import { PRICE_PARAMETERS } from '../domain/price/price-parameters.ts'
import type { ListingQuery } from '../domain/query.ts'
import { EntrepotError, type Violation } from '../errors.ts'
import { DERIVED_NAMES } from '../vocabulary/names.ts'
import { type Criterion, type Filter, type FilterSpec, isSameFilter, type OnMissing } from './filter.ts'
import { listNames, quote, readBoolean, readJsonSet, refuseParameter, trim, writeSet } from './literals.ts'
import { derivedTest } from './operations/derived.ts'
import { OPERATIONS, parseTest, setFormOf } from './operations/operations.ts'
import { suggestFilter } from './suggest-filter.ts'

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
    if (filter === undefined) return refuseUnknownFilter(name, value, [...spec.filters.keys()])
    const onMissing = overrides.get(name) ?? filter.on_missing
    criteria.push(criterionOf(filter, value, onMissing))
  }
  return criteria
}

/**
 * The pairs with one for each derived filter, whose repeats are one set. Of a filter of the filter spec the last one counts.
 * @throws EntrepotError `bad_request` for repeats that are no set
 */
export function joinRepeats(
  { filters }: Pick<FilterSpec, 'filters'>,
  pairs: readonly (readonly [name: string, value: string])[],
): readonly (readonly [name: string, value: string])[] {
  const isDerived = (name: string): boolean => filters.get(name)?.parseDerived !== undefined
  return pairs.flatMap(([name], n) => {
    if (!isDerived(name)) return [pairs[n]!]
    if (pairs.findIndex(([one]) => one === name) < n) return []
    const texts = new Set(pairs.flatMap(([one, value]) => (one === name && value !== '' ? [value] : [])))
    return [[name, joinTexts(filters.get(name)!, [...texts])] as const]
  })
}

/** Of filters of a filter spec, whose last value counts, as in the protocol. */
export function repeatWarnings(filters: readonly (readonly [name: string, value: string])[]): Violation[] {
  const repeats = filters.filter(([name], n) => filters.findIndex(([one]) => one === name) < n)
  return Array.from(new Set(repeats.map(([name]) => name)), (path) => ({
    path,
    message: `given twice, and only the last counts; for any of several, write ${path}=in:[A,B]`,
  }))
}

function joinTexts({ name, parseDerived }: Filter, texts: readonly string[]): string {
  if (texts.length < 2) return texts[0] ?? ''
  const sets = texts.map((text) => parseDerived!(text).meant)
  const [first] = sets
  if (first === undefined || sets.some((set) => set?.form !== first.form))
    return refuseParameter(
      name,
      `given ${texts.length} times, which is no set: ${texts.map(quote).join(', ')}`,
    )
  return writeSet(first.form, [...new Set(sets.flatMap((set) => set!.values))])
}

/** A listing that a derived filter cannot judge passes where the reader keeps those without the field. */
function criterionOf(filter: Filter, value: string, onMissing: OnMissing): Criterion {
  if (filter.parseDerived === undefined) return { filter, onMissing, test: parseTest(filter, value) }
  const { judge, matchesMissing } = filter.parseDerived(value)
  const passes = matchesMissing ? 'pass' : 'fail'
  return onMissing === 'pass'
    ? { filter, onMissing: passes, test: derivedTest((one) => judge(one) !== false) }
    : {
        filter,
        onMissing: passes,
        test: derivedTest((one) => judge(one) === true),
        unplaced: derivedTest((one) => judge(one) === null),
      }
}

/** `detail` has the deployed protocol's words, so the suggestion stands beside it. @throws EntrepotError `bad_request` */
function refuseUnknownFilter(name: string, value: string, names: readonly string[]): never {
  const meant = suggestFilter(name, names)
  const message = meant?.hint ?? `known are ${listNames(names)}`
  throw new EntrepotError('bad_request', `unknown filter: ${quote(name)}`, {
    errors: names.length === 0 ? [] : [{ path: name, message }],
    ...(meant !== null && { members: { suggestions: [{ query: { [meant.filter]: value } }] } }),
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

/** Parameters of `GET /listings` in the deployed protocol: no filter can have such a name. */
export const PROTOCOL_PARAMETERS: ReadonlySet<string> = new Set(['status', 'limit', 'offset', 'publisher'])

/** What entrepot adds to its parameters. A filter of the spec takes such a name, so a spec stays good when a row is added. */
const OWN_PARAMETERS = [
  ...PRICE_PARAMETERS,
  ...DERIVED_NAMES,
  'require',
  'timeout_ms',
  'sources',
  'cursor',
] as const
export type OwnParameter = (typeof OWN_PARAMETERS)[number]

/** One for each own parameter whose name a filter of the spec takes. */
export function specWarnings({ filters }: Pick<FilterSpec, 'filters'>, file: string): Violation[] {
  return OWN_PARAMETERS.filter((name) => filters.has(name)).map((name) => ({
    path: `${file}: filter '${name}'`,
    message: `takes the name of the query parameter '${name}', which has none here; rename the filter to have both`,
  }))
}

export function isOwnParameter(name: string): boolean {
  return OWN_PARAMETERS.some((one) => one === name)
}

export const OVERRIDE_PREFIX = 'strict.'

export const filterNameOf = (parameter: string): string =>
  parameter.startsWith(OVERRIDE_PREFIX) ? parameter.slice(OVERRIDE_PREFIX.length) : parameter

/** As deployed: `&` alone separates, bare names have an empty value, bad UTF-8 is U+FFFD. Never throws. */
export const decodeQuery = (queryString: string): [name: string, value: string][] => [
  // URLSearchParams would drop a leading `?`, which belongs to the first name.
  ...new URLSearchParams(`&${queryString}`),
]

/**
 * Names of the filters that a source with this filter spec can be sent: those that it declares identically.
 * @param sendsDerived whether derived filters are sent, too: an entrepot judges them by its own tables
 */
export function sendableFilters(
  { criteria, filters }: Pick<ListingQuery, 'criteria' | 'filters'>,
  declared: FilterSpec['filters'] | undefined,
  sendsDerived = false,
): Set<string> {
  const names = criteria.flatMap(({ filter }) => {
    const known = declared?.get(filter.name)
    const isDerived = filter.parseDerived !== undefined
    const isSendable = isDerived ? sendsDerived && known === undefined : known && isSameFilter(known, filter)
    return isSendable ? [filter.name] : []
  })
  const sets = filters.flatMap(([parameter, value]) => (isJsonSet(value) ? [filterNameOf(parameter)] : []))
  return new Set(names).difference(new Set(sets))
}

/** A deployed Registry would read pieces of its values. */
function isJsonSet(value: string): boolean {
  const form = setFormOf(value)
  return form !== null && readJsonSet(trim(value.slice(form.length + 1))) !== null
}

/** Names of the filters that the source does not apply. */
export function unsentFilters({
  criteria,
  pushed,
}: {
  criteria: readonly Criterion[]
  pushed: readonly (readonly [name: string, value: string])[]
}): string[] {
  return criteria
    .map(({ filter }) => filter.name)
    .filter((name) => !pushed.some(([parameter]) => filterNameOf(parameter) === name))
}

/** One line for people and agents: which listings a filter keeps, and how to write its value. */
export function describeFilter(filter: Omit<Filter, 'compiled' | 'indexed'>): string {
  const { name, path, on_missing } = filter
  const [kept, other] = on_missing === 'pass' ? ['kept', true] : ['dropped', false]
  const meaning = OPERATIONS[filter.op].meaning(filter)
  return `${path} ${meaning}. Listings without it are ${kept}; ${OVERRIDE_PREFIX}${name}=${other} inverts this`
}
