import type { ListingStatus } from '../domain/listing.ts'
import type { Origin } from '../domain/source/item.ts'
import type { Micros } from '../domain/timestamp.ts'
import type { Seller } from './sellers.ts'

/** A copy of a listing, as one source has it. */
export type Row = {
  /** Unique in its source: the listing id, or from a gateway, a line feed and what keeps copies of one id apart behind it. */
  key: string
  /** A generation of a source, as of `CopyIndex.addSource`. */
  source: number
  /** A publisher of the own Registry, or a number of `Sellers`. */
  seller: number
  status: ListingStatus
  /** Orders it: when it was created, or a gateway's `_meta.position`. Microseconds. */
  position: Micros
  /** As its source served it: JSON in UTF-8. The index copies them. */
  bytes: Uint8Array
  /** What a gateway reports about it. */
  origin?: Origin | undefined
}

/** A row as the index has it. Its `bytes` are a view that stays valid; do not write to it. */
export type Copy = Row &
  Seller & {
    listingId: string
    /** JSON members that a gateway adds; empty for none. */
    meaning: string
    /** Its prices, as of `writeTerms`. */
    terms: string
  }

/** The listing of a row with that key. Ids have no line feeds. */
export function listingIdOf(key: string): string {
  const end = key.indexOf('\n')
  return end === -1 ? key : key.slice(0, end)
}
