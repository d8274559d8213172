import { describeFilters } from './describe-filters.ts'
import { getListing } from './get-listing.ts'
import { listSources } from './list-sources.ts'
import { searchListings } from './search-listings.ts'
import type { Tool } from './tool.ts'

/** All that an agent may call: reading, and nothing else. */
export const TOOLS: readonly Tool[] = [searchListings, getListing, describeFilters, listSources]
