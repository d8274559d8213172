import {
  compileFilter,
  definitionOf,
  type Filter,
  type FilterDefinition,
} from '../../src/filter-spec/filter.ts'

/** A filter of a member of the offer, with the member's name by default. */
export const filterOf = (name: string, definition: Partial<FilterDefinition> = {}): Filter =>
  compileFilter({
    name,
    path: `$.offer_resource.${name}`,
    op: 'in',
    value_type: 'string',
    alias_kind: null,
    on_missing: 'fail',
    indexed: false,
    ...definition,
  })

/** The body of a Registry's `GET /filter-spec`. */
export const specBody = (etag: string, filters: readonly Filter[], schema?: string): object => ({
  version: 1,
  etag,
  listing_shape: { type: 'object' },
  filters: filters.map(definitionOf),
  ...(schema === undefined ? {} : { schema: { id: schema, version: 1 } }),
})
