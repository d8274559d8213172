import { describeFilters } from './describe-filters.ts'
import { getListing } from './get-listing.ts'
import { listSources } from './list-sources.ts'
import { searchListings } from './search-listings.ts'
import type { Tool } from './tool.ts'

/** All of them only read. */
export const TOOLS: readonly Tool[] = [searchListings, getListing, describeFilters, listSources]
