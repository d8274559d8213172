import { type Identity, isSameListing } from '../domain/listing-identity.ts'
import type { Item } from '../domain/reading.ts'
import type { SourceReader } from './source-reader.ts'

export type Copy = { item: Item; reader: CopySource }
type CopySource = Pick<SourceReader, 'source' | 'rank' | 'isStale' | 'positionOf' | 'addInvalid'>

export type KnownListing = { publisher: string | null; storefronts: (string | null)[] }

export function newListing({ publisher, storefrontUrl }: Identity): KnownListing {
  return { publisher, storefronts: [storefrontUrl] }
}

export function newListingOf(
  copy: Copy,
  others: readonly Copy[],
  listings: readonly KnownListing[],
): KnownListing {
  const listing = newListing(copy.item)
  for (const other of groupOf(copy, others, listings).own) addCopy(listing, other.item)
  return listing
}

/** `own`: the copies of the same listing, without those of `listings`, which were emitted before. */
export function groupOf(
  copy: Copy,
  others: readonly Copy[],
  listings: readonly KnownListing[],
): { groups: readonly Copy[][]; own: readonly Copy[] } {
  const all = [copy, ...others.filter((other) => other !== copy)]
  const groups = groupCopies(all.sort((a, b) => a.reader.rank - b.reader.rank))
  const group = groups.find((one) => one.includes(copy))!
  const isFree = (other: Copy): boolean =>
    other === copy || !listings.some((listing) => belongs(other.item, listing))
  return { groups, own: listings.length === 0 ? group : group.filter(isFree) }
}

/** Known publishers go first, so that a copy without one never joins the listings of two publishers. */
export function groupCopies(copies: readonly Copy[]): Copy[][] {
  if (copies.length === 1) return [[copies[0]!]]
  const groups: Copy[][] = []
  const known = copies.filter(({ item }) => item.publisher !== null)
  const unknown = copies.filter(({ item }) => item.publisher === null)
  for (const copy of [...known, ...unknown]) {
    const group = groups.find((others) => others.some((other) => isSameListing(other.item, copy.item)))
    if (group === undefined) groups.push([copy])
    else group.push(copy)
  }
  return groups.map((group) => group.sort((a, b) => a.reader.rank - b.reader.rank))
}

export function belongs({ publisher, storefrontUrl }: Identity, listing: KnownListing): boolean {
  if (publisher !== null && listing.publisher !== null) return publisher === listing.publisher
  return storefrontUrl !== null && listing.storefronts.includes(storefrontUrl)
}

export function addCopy(listing: KnownListing, { publisher, storefrontUrl }: Identity): void {
  listing.publisher ??= publisher
  if (!listing.storefronts.includes(storefrontUrl)) listing.storefronts.push(storefrontUrl)
}

/** By value, since lookups create new objects. */
export function isSameCopy(a: Item, b: Item): boolean {
  return (
    a === b ||
    (a.publisher === b.publisher && a.storefrontUrl === b.storefrontUrl && a.position === b.position)
  )
}

export function copyKey({ item, reader }: Copy): string {
  return `${reader.rank}\n${item.listingId}\n${item.publisher}\n${item.storefrontUrl}`
}
