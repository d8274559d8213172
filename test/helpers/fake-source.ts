import type { NamedSource } from '../../src/domain/source/named-source.ts'
import { compareSortKeys, type Item, isAfter, type Range } from '../../src/domain/source/reading.ts'
import { SourceError } from '../../src/domain/source/source-error.ts'
import type { SourceReason } from '../../src/domain/source/source-reason.ts'
import type { Micros } from '../../src/domain/timestamp.ts'

/** A listing with its id, date, `offer` and `escrows` in its document. */
export function fakeItem(
  listingId: string,
  position: Micros,
  { offer = {}, escrows = [], ...fields }: Partial<Item> & { offer?: object; escrows?: object[] } = {},
): Item {
  const document = {
    listing_id: listingId,
    created_at: position,
    offer_resource: offer,
    accepted_escrows: escrows,
  }
  return {
    bytes: Buffer.from(JSON.stringify(document)),
    listingId,
    createdAt: position,
    position,
    storefrontUrl: 'http://storefront.example/',
    publisher: null,
    ...fields,
  }
}

/** May be changed between two Readings. */
export type FakeSource = Omit<NamedSource, 'read'> & {
  read: NamedSource['read']
  items: Item[]
  /** A complete source supports lookups, like a snapshot; others are read in parts. */
  isComplete: boolean
  /** Listings of each Reading beyond the requested range. */
  surplus: number
  failure: SourceReason | null
  /** Ranges that were read, oldest first. */
  ranges: Range[]
}

/** A source with these listings and exact answers. */
export function fakeSource(
  name: string,
  items: readonly Item[],
  { isComplete = false, ...options }: Partial<FakeSource> = {},
): FakeSource {
  const source: FakeSource = {
    name,
    visibility: 'public',
    mode: isComplete ? 'snapshot' : 'live',
    priority: 1,
    isComplete,
    surplus: 0,
    failure: null,
    ranges: [],
    read: async (_query, range) => {
      source.ranges.push(range)
      if (source.failure !== null) throw new SourceError(source.failure, `${name}: scripted`)
      const sorted = source.items.toSorted(compareSortKeys)
      const wanted = sorted.flatMap((item, offset) =>
        isAfter(item, range.after) ? [source.isComplete ? item : { ...item, offset }] : [],
      )
      const listings = wanted.slice(0, range.count + source.surplus)
      return {
        listings,
        hasMore: listings.length < wanted.length,
        total: sorted.length,
        asOf: 0,
        stale: false,
        ...(source.isComplete ? { find: (id) => sorted.filter(({ listingId }) => listingId === id) } : {}),
      }
    },
    ...options,
    items: [...items],
  }
  return source
}
