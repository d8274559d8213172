import type { Path } from './path.ts'

export const OPS = ['in', 'not_in', 'range', 'exists'] as const
export const VALUE_TYPES = ['string', 'integer', 'number', 'boolean', 'address'] as const
export const ALIAS_KINDS = ['lower_bound', 'upper_bound'] as const

type Op = (typeof OPS)[number]
export type ValueType = (typeof VALUE_TYPES)[number]
type AliasKind = (typeof ALIAS_KINDS)[number]
export type OnMissing = 'fail' | 'pass'

/** One filter of a filter spec file, defaults filled in. */
export type FilterDefinition = {
  name: string
  path: string
  op: Op
  value_type: ValueType
  alias_kind: AliasKind | null
  on_missing: OnMissing
  indexed: boolean
}

/** A filter ready to be asked. */
export type Filter = FilterDefinition & { compiled: Path }

/** A Registry's vocabulary: what may be asked, and what a listing should look like. */
export type FilterSpec = {
  version: number
  /** Lower-case hex SHA-256 of the canonical form. */
  etag: string
  schema: { id: string; version: number } | null
  /** JSON Schema 2020-12 of a listing. */
  listingShape: Readonly<Record<string, unknown>>
  /** In the order of the file, which the etag depends on. */
  filters: ReadonlyMap<string, Filter>
}
