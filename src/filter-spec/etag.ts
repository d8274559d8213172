import { createHash } from 'node:crypto'
import { type CanonicalValue, canonicalJson } from './canonical-json.ts'
import { definitionOf } from './definition.ts'
import type { FilterDefinition, FilterSpec } from './filter.ts'

/** The listing shape must still distinguish floats from integers. */
type EtagSource = Pick<FilterSpec, 'version' | 'schema'> & {
  listingShape: CanonicalValue
  /** Their order counts. */
  filters: readonly FilterDefinition[]
}

/** Lower-case hex SHA-256 of the canonical form: docs/protocol.md#72-the-response-and-its-etag. */
export const filterSpecEtag = (source: EtagSource): string =>
  createHash('sha256').update(canonicalForm(source)).digest('hex')

export const canonicalForm = ({ version, schema, listingShape, filters }: EtagSource): string =>
  canonicalJson({
    version,
    ...(schema === null ? {} : { schema }),
    listing_shape: listingShape,
    filters: filters.map(definitionOf),
  })
