import { parseJson } from '../domain/json.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { Exclusions } from '../filter-spec/exclusions.ts'
import { rowConditions } from '../listing-index/row-conditions.ts'
import type { UpstreamItem } from './upstream-item.ts'

/**
 * Tells which listings of an upstream a query means. Who has published one may not be known: then that is left to the
 * upstream.
 * @param exclusions told of those that fail the criteria; `null` where nobody asks why
 */
export const itemFilter = (
  { status, publisher, criteria }: ListingQuery,
  exclusions: Exclusions | null,
): ((one: UpstreamItem) => boolean) => {
  const conditions = rowConditions(criteria)
  return ({ item, status: own }) => {
    if (status !== null && own !== status) return false
    if (publisher !== null && item.publisher !== null && item.publisher !== publisher) return false
    if (conditions.accept(item.bytes)) return true
    exclusions?.add(parseJson(Buffer.from(item.bytes).toString()))
    return false
  }
}
