import { createHash } from 'node:crypto'
import { type CanonicalValue, canonicalJson } from './canonical-json.ts'
import { definitionOf } from './definition.ts'
import type { FilterDefinition, FilterSpec } from './filter.ts'

/** What an etag is made of. The listing shape still tells floats from integers. */
type EtagSource = Pick<FilterSpec, 'version' | 'schema'> & {
  listingShape: CanonicalValue
  /** Their order counts. */
  filters: readonly FilterDefinition[]
}

/** Lower-case hex SHA-256 of a filter spec's canonical form: docs/protocol.md#72-the-response-and-its-etag. */
export const filterSpecEtag = (source: EtagSource): string =>
  createHash('sha256').update(canonicalForm(source)).digest('hex')

/** An undeclared schema leaves no member behind. Each filter has its seven keys. */
export const canonicalForm = ({ version, schema, listingShape, filters }: EtagSource): string =>
  canonicalJson({
    version,
    ...(schema === null ? {} : { schema }),
    listing_shape: listingShape,
    filters: filters.map(definitionOf),
  })
