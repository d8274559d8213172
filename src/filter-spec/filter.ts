import type { DerivedTest } from './operations/derived.ts'
import type { Operand } from './operations/operation.ts'
import type { FilterTest, Op } from './operations/operations.ts'
import { compilePath, type Path, pathIn } from './path.ts'
import { distinctNames, type QueryNames } from './query-names.ts'
import type { Scalar } from './scalar.ts'

export type OnMissing = 'fail' | 'pass'

export type FilterDefinition = Operand & {
  path: string
  op: Op
  on_missing: OnMissing
  indexed: boolean
} & Partial<QueryNames>

export type Filter = FilterDefinition & {
  compiled: Path
  /** Of a filter of derived values, which no filter spec declares. @throws EntrepotError `bad_request` */
  parseDerived?: (raw: string) => Judgement
}

/** What a parameter says of a derived value. */
export type Judgement = {
  /** `null`: the value leaves it open. */
  judge: (value: Scalar) => boolean | null
  /** Whether a listing without the value matches. */
  matchesMissing: boolean
  /** The values of a set, as listings have them. */
  meant?: { form: 'in' | 'not_in'; values: readonly string[] }
}

/** A filter with its test, as a query applies it. */
export type Criterion = {
  filter: Filter
  onMissing: OnMissing
  test: FilterTest
  /** Passes what `test` cannot judge; absent where it judges everything. */
  unplaced?: DerivedTest | undefined
}

export type FilterSpec = {
  version: number
  etag: string
  /** Which line the spec is listed for: filters of the signed one have names for a query language. */
  line: 'plain' | 'signed'
  /** The etag on the signed line. */
  signedEtag: string
  schema: { id: string; version: number } | null
  /** JSON Schema 2020-12. */
  listingShape: Readonly<Record<string, unknown>>
  /** In file order, which the etag depends on. */
  filters: ReadonlyMap<string, Filter>
}

/** Of a reader without a Registry. */
export const EMPTY_SPEC: FilterSpec = {
  version: 1,
  etag: '',
  line: 'plain',
  signedEtag: '',
  schema: null,
  listingShape: {},
  filters: new Map(),
}

/** Ignores name and `indexed`. */
export const isSameFilter = (one: FilterDefinition, other: FilterDefinition): boolean =>
  MEANING.every((key) => one[key] === other[key])

const MEANING = ['path', 'op', 'value_type', 'alias_kind', 'on_missing'] as const

/** The filter for listings of that source, which may give derived values another meaning. */
export function filterIn(filter: Filter, source: string): Filter {
  const compiled = pathIn(filter.compiled, source)
  return compiled === filter.compiled ? filter : { ...filter, compiled }
}

/** The same array where no value is derived. */
export function criteriaIn(criteria: readonly Criterion[], source: string): readonly Criterion[] {
  if (!criteria.some(({ filter }) => filter.parseDerived !== undefined)) return criteria
  return criteria.map((one) => ({ ...one, filter: filterIn(one.filter, source) }))
}

/** In the order of `GET /filter-spec` on the plain line. */
export const definitionOf = (filter: FilterDefinition): FilterDefinition => ({
  name: filter.name,
  path: filter.path,
  op: filter.op,
  value_type: filter.value_type,
  alias_kind: filter.alias_kind,
  on_missing: filter.on_missing,
  indexed: filter.indexed,
})

/** As the signed line lists them: without those that buyers cannot name. */
export function signedDefinitions(filters: readonly FilterDefinition[]): FilterDefinition[] {
  const names = distinctNames(filters)
  return filters.flatMap((filter) => {
    const { name, path, ...rest } = definitionOf(filter)
    const called = names.get(name)
    return called === undefined ? [] : [{ name, path, ...called, ...rest }]
  })
}

export const onSignedLine = (spec: FilterSpec): FilterSpec => ({
  ...spec,
  line: 'signed',
  etag: spec.signedEtag,
})

/** `filters` as the line of the spec lists them. */
export const listFilters = (
  { line }: FilterSpec,
  filters: readonly FilterDefinition[],
): readonly FilterDefinition[] => (line === 'signed' ? signedDefinitions(filters) : filters.map(definitionOf))

/** `added`: filters that only upstreams declare, as they are listed. */
export const renderFilterSpec = (spec: FilterSpec, added: readonly FilterDefinition[] = []): string =>
  JSON.stringify({
    version: spec.version,
    etag: spec.etag,
    listing_shape: spec.listingShape,
    filters: [...listFilters(spec, [...spec.filters.values()]), ...added],
    ...(spec.schema === null ? {} : { schema: { id: spec.schema.id, version: spec.schema.version } }),
  })

/** Checks only the path, unlike the loader. @throws SyntaxError that names the offending part */
export const compileFilter = (definition: FilterDefinition): Filter => ({
  ...definition,
  compiled: compilePath(definition.path),
})
