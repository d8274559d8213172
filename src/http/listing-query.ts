import type { ListingStatus } from '../domain/listing.ts'
import type { PageQuery } from '../domain/query.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { parseCriteria } from '../filter-spec/parameters.ts'
import type { ListingParameters } from './parameters.ts'

/** @throws EntrepotError `bad_request` for an unknown or malformed filter */
export const queryOf = (
  spec: Pick<FilterSpec, 'filters'>,
  status: ListingStatus | null,
  { filters, publisher, limit, offset }: ListingParameters,
): PageQuery => ({ status, criteria: parseCriteria(spec, filters), filters, publisher, limit, offset })
