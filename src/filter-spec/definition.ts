import type { FilterDefinition } from './filter.ts'

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
