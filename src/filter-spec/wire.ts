import { definitionOf } from './definition.ts'
import type { FilterSpec } from './filter.ts'

/** The body of `GET /filter-spec` (`protocol.md` 1.13): nulls shown, no `schema` where none is declared. */
export const renderFilterSpec = (spec: FilterSpec): string =>
  JSON.stringify({
    version: spec.version,
    etag: spec.etag,
    listing_shape: spec.listingShape,
    filters: [...spec.filters.values()].map(definitionOf),
    ...(spec.schema === null ? {} : { schema: { id: spec.schema.id, version: spec.schema.version } }),
  })
