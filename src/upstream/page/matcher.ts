import type { JsonObject } from '../../domain/json.ts'
import type { ListingQuery } from '../../domain/query.ts'
import { matchesParsed } from '../../filter-spec/evaluate.ts'
import { filterNameOf } from '../../filter-spec/reserved.ts'
import { rowConditions } from '../../listing-index/row-conditions.ts'
import type { Matcher } from './listing-page.ts'

/**
 * Evaluates again what an upstream was asked to apply: the status, and the criteria of the filters that it was sent.
 * The other criteria belong to the reader and are evaluated on each reading.
 */
export function matcherOf({ status, criteria, filters, listingId }: ListingQuery): Matcher {
  if (listingId !== undefined) return EVERYTHING
  const sent = new Set(filters.map(([parameter]) => filterNameOf(parameter)))
  const pushed = criteria.filter(({ filter }) => sent.has(filter.name))
  const hasStatus = (document: JsonObject): boolean => status === null || document.status === status
  return {
    matches: (document) => hasStatus(document) && (pushed.length === 0 || matchesParsed(pushed, document)),
    matchesBytes: (bytes) => rowConditions(pushed).accept(bytes),
  }
}

const EVERYTHING: Matcher = { matches: () => true, matchesBytes: () => true }
