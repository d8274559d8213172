import { definitionOf } from './definition.ts'
import type { FilterDefinition, FilterSpec } from './filter.ts'

/**
 * The body of `GET /filter-spec`: nulls shown, no `schema` where none is declared. `added` are the filters that only
 * upstreams declare.
 */
export const renderFilterSpec = (spec: FilterSpec, added: readonly FilterDefinition[] = []): string =>
  JSON.stringify({
    version: spec.version,
    etag: spec.etag,
    listing_shape: spec.listingShape,
    filters: [...[...spec.filters.values()].map(definitionOf), ...added],
    ...(spec.schema === null ? {} : { schema: { id: spec.schema.id, version: spec.schema.version } }),
  })
