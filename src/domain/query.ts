import type { Criterion } from '../filter-spec/criteria.ts'
import type { ListingStatus } from './listing.ts'

/** One reader's question, parsed and checked against our own filter spec (`protocol.md` 1.7). */
export type ListingQuery = {
  /** `null` asks for every status. */
  status: ListingStatus | null
  /** Signing address, lower-cased; `null` asks for every publisher. */
  publisher: string | null
  /** AND-ed. */
  criteria: readonly Criterion[]
  /** The same filters as name and raw value, as the reader sent them (for pushing them down). */
  filters: readonly (readonly [name: string, value: string])[]
  /** 1 to 200 as a reader sends it; the gateway asks its sources for longer prefixes. */
  limit: number
  offset: number
}

export const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 200
