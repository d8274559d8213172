import type { Path } from './path.ts'

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
