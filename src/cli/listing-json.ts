import { renderItem } from '../gateway/envelope.ts'
import type { MergedItem } from '../gateway/merged-item.ts'

/** JSON text of a listing, with `_meta`, or as a policy made it. */
export type ListingJson = string

export const toListingJson = (merged: MergedItem): ListingJson => renderItem(merged).toString('utf8')
