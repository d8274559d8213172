import type { ListingStatus } from '../domain/listing.ts'
import { identityKey, type ListingIdentity } from '../domain/listing-identity.ts'

/** A copy of a listing. `rank` is its source's, 0 is the best: by priority, then by the order of the configuration. */
export type RankedCopy = {
  item: ListingIdentity
  rank: number
  status: ListingStatus
  /** Of the gateway's own Registry, whose closed listings are known. */
  isOwn: boolean
}

type Question<C> = {
  /** `null`: every status. */
  status: ListingStatus | null
  /** Whether the copy matches the filter of the view. Default: every copy. The reader's own filters come later. */
  matches?: (copy: C) => boolean
}

/** About one listing. */
export type Decision<C> = {
  /** The copy of the best source that has the listing. */
  decider: C
  /** Copies of worse sources, by rank: named and never shown. */
  otherCopies: readonly C[]
  /** Whether the answer shows the decider. If not, it shows no copy of the listing. */
  isShown: boolean
  /** Whether the answer could show another publisher's listing of the same id. */
  isConflict: boolean
}

/**
 * Whose word counts: one decision per listing, of all copies of one `listing_id`.
 *
 * 1. A listing is its publisher and its id. Copies are of one listing where their publishers have the same address, or
 *    the same storefront while both addresses are unknown. Otherwise both are shown, as a conflict: any wallet at
 *    an open Registry could hide a seller whose directory is away.
 * 2. Copies that do not exist for the reader decide nothing: they are not among `copies`.
 * 3. Copies of the asked status compete. A closed copy in the gateway's own Registry also competes with open ones.
 * 4. The best source that has the listing decides. Its copy is shown, filtered, priced, counted, and in the
 *    place of its own date.
 * 5. Filters come last: a decider that does not match hides the copies that would. A listing whose decider is outside the
 *    view does not exist for the reader: its copies are counted nowhere, and it is in no conflict.
 */
export function decide<C extends RankedCopy>(
  copies: readonly C[],
  { status, matches = () => true }: Question<C>,
): Decision<C>[] {
  const competing = copies.filter((copy) => competes(copy, status))
  const groups = groupByListing(competing.sort((a, b) => a.rank - b.rank))
  const isShown = ([decider]: C[]) => hasStatus(decider!, status) && matches(decider!)
  const shown = new Set(groups.filter(isShown))
  return groups.map((group) => {
    const [decider, ...otherCopies] = group
    const isOne = shown.has(group)
    return { decider: decider!, otherCopies, isShown: isOne, isConflict: shown.size > (isOne ? 1 : 0) }
  })
}

type StatusOfCopy = Pick<RankedCopy, 'status' | 'isOwn'>

/** Rule 3. */
export function competes(copy: StatusOfCopy, status: ListingStatus | null): boolean {
  return hasStatus(copy, status) || (copy.isOwn && status === 'open')
}

function hasStatus(copy: StatusOfCopy, status: ListingStatus | null): boolean {
  return status === null || copy.status === status
}

function groupByListing<C extends RankedCopy>(copies: readonly C[]): C[][] {
  const groups: C[][] = []
  const byIdentity = new Map<string, C[]>()
  for (const copy of copies) {
    const identity = identityKey(copy.item)
    const group = identity === null ? undefined : byIdentity.get(identity)
    if (group !== undefined) group.push(copy)
    else {
      const added = [copy]
      groups.push(added)
      if (identity !== null) byIdentity.set(identity, added)
    }
  }
  return groups
}
