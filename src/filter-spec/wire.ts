import { definitionOf } from './definition.ts'
import type { FilterDefinition, FilterSpec } from './filter.ts'

/** `added`: filters that only upstreams declare. */
export const renderFilterSpec = (spec: FilterSpec, added: readonly FilterDefinition[] = []): string =>
  JSON.stringify({
    version: spec.version,
    etag: spec.etag,
    listing_shape: spec.listingShape,
    filters: [...[...spec.filters.values()].map(definitionOf), ...added],
    ...(spec.schema === null ? {} : { schema: { id: spec.schema.id, version: spec.schema.version } }),
  })
