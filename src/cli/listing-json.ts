import { renderItem } from '../gateway/envelope.ts'
import type { MergedItem } from '../gateway/merged-item.ts'
import { isJsonObject, type JsonObject, parseJson } from '../json/value.ts'

/** JSON text of a listing, with `_meta`, or as a policy made it. */
export type ListingJson = string

export const toListingJson = (merged: MergedItem): ListingJson => renderItem(merged).toString('utf8')

/** Empty for a value that is not an object. */
export function parseListingJson(row: ListingJson): JsonObject {
  const value = parseJson(row)
  return isJsonObject(value) ? value : {}
}
