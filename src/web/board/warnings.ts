import type { ListingRow } from './state/listing-row.ts'

type Warning = readonly [title: string, why: string]

/** What is doubtful about a listing: flags of its row, warnings of its sheet. Untrusted text. */
export function warningsOf({ disputed, isIncomplete, isStale, differs, conflicts }: ListingRow): Warning[] {
  const all: readonly (readonly [is: boolean, ...Warning])[] = [
    [
      disputed.length > 0,
      'disputed',
      `${disputed.join(', ')} has another storefront for this seller: check it before you pay`,
    ],
    [isIncomplete, 'incomplete', 'a Registry that may have a better copy of this listing did not answer'],
    [isStale, 'cached copy', 'the Registry did not answer, so this is an older copy'],
    [differs, 'versions differ', 'another Registry lists it with other terms'],
    [conflicts, 'duplicate ID', 'another seller has a listing with this id: check the seller'],
  ]
  return all.flatMap(([is, ...warning]) => (is ? [warning] : []))
}
