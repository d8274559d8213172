import type { FilterDefinition } from './filter.ts'

/** The seven keys of a filter, in the order in which `GET /filter-spec` shows them. */
export const definitionOf = (filter: FilterDefinition): FilterDefinition => ({
  name: filter.name,
  path: filter.path,
  op: filter.op,
  value_type: filter.value_type,
  alias_kind: filter.alias_kind,
  on_missing: filter.on_missing,
  indexed: filter.indexed,
})
