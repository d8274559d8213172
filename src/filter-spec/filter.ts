import { compilePath, type Path } from './path.ts'

export const OPS = ['in', 'not_in', 'range', 'exists'] as const
export const VALUE_TYPES = ['string', 'integer', 'number', 'boolean', 'address'] as const
export const ALIAS_KINDS = ['lower_bound', 'upper_bound'] as const

type Op = (typeof OPS)[number]
export type ValueType = (typeof VALUE_TYPES)[number]
type AliasKind = (typeof ALIAS_KINDS)[number]
export type OnMissing = 'fail' | 'pass'

export type FilterDefinition = {
  name: string
  path: string
  op: Op
  value_type: ValueType
  alias_kind: AliasKind | null
  on_missing: OnMissing
  indexed: boolean
}

export type Filter = FilterDefinition & { compiled: Path }

export type FilterSpec = {
  version: number
  etag: string
  schema: { id: string; version: number } | null
  /** JSON Schema 2020-12. */
  listingShape: Readonly<Record<string, unknown>>
  /** In file order, which the etag depends on. */
  filters: ReadonlyMap<string, Filter>
}

/** Ignores name and `indexed`. */
export const isSameFilter = (one: FilterDefinition, other: FilterDefinition): boolean =>
  MEANING.every((key) => one[key] === other[key])

const MEANING = ['path', 'op', 'value_type', 'alias_kind', 'on_missing'] as const

/** In the order of `GET /filter-spec`. */
export const definitionOf = (filter: FilterDefinition): FilterDefinition => ({
  name: filter.name,
  path: filter.path,
  op: filter.op,
  value_type: filter.value_type,
  alias_kind: filter.alias_kind,
  on_missing: filter.on_missing,
  indexed: filter.indexed,
})

/** `added`: filters that only upstreams declare. */
export const renderFilterSpec = (spec: FilterSpec, added: readonly FilterDefinition[] = []): string =>
  JSON.stringify({
    version: spec.version,
    etag: spec.etag,
    listing_shape: spec.listingShape,
    filters: [...[...spec.filters.values()].map(definitionOf), ...added],
    ...(spec.schema === null ? {} : { schema: { id: spec.schema.id, version: spec.schema.version } }),
  })

/** Checks only the path, unlike the loader. @throws SyntaxError that names the offending part */
export const compileFilter = (definition: FilterDefinition): Filter => ({
  ...definition,
  compiled: compilePath(definition.path),
})
