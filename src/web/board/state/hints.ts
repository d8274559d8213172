import type { JsonObject } from '../../../json/value.ts'
import { type ListingRow, readListingRow } from './listing-row.ts'

/** A query that finds more, or other listings, than what was asked. */
export type Suggestion = { query: Readonly<Record<string, string>>; total: number }

/** A listing that differs from what was asked in one filter. All text is untrusted. */
export type NearMiss = { filter: string; has: string; row: ListingRow }

/** What an answer says about listings that it does not have. */
export type Hints = {
  /** By derived filter. */
  unplaced: Readonly<Record<string, number>>
  suggestions: readonly Suggestion[]
  nearMisses: readonly NearMiss[]
  /** Whether there are private registries that the reader does not see. */
  hasPrivate: boolean
}

export const NO_HINTS: Hints = { unplaced: {}, suggestions: [], nearMisses: [], hasPrivate: false }

type Members = {
  unplaced?: Hints['unplaced']
  suggestions?: Hints['suggestions']
  private_sources?: boolean
  near_misses?: readonly { differs: { filter: string; has: unknown }; listing: JsonObject }[]
}

/** Unchecked: the gateway's own answer. @param rest the members of a page beside its items */
export function readHints(rest: string): Hints {
  const {
    unplaced = {},
    suggestions = [],
    near_misses = [],
    private_sources = false,
  }: Members = JSON.parse(rest)
  const nearMisses = near_misses.map(({ differs, listing }) => ({
    filter: differs.filter,
    has: String(differs.has ?? ''),
    row: readListingRow(new TextEncoder().encode(JSON.stringify(listing))),
  }))
  return { unplaced, suggestions, nearMisses, hasPrivate: private_sources }
}
