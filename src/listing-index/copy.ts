import type { ListingStatus } from '../domain/listing.ts'
import type { Origin } from '../domain/source/item.ts'
import type { Micros } from '../domain/timestamp.ts'
import type { Seller } from './sellers.ts'

/** A copy of a listing, as its source has it. */
export type Row = {
  /** Unique in its source: the listing id, or from a gateway, a line feed and what keeps copies of one id apart behind it. */
  key: string
  /** A publisher of the own Registry, or a number of `Sellers`. */
  seller: number
  status: ListingStatus
  /** Orders it: when it was created, or a gateway's `_meta.position`. Microseconds. */
  position: Micros
  /** As its source served it: JSON in UTF-8. The index copies them. */
  bytes: Uint8Array
  /** What a gateway reports about it. Rows share equal ones. */
  origin?: Origin | undefined
}

/** A row with what the index has made of its bytes. */
export type HeldRow = Row & {
  /** JSON members that a gateway adds; empty for none. */
  meaning: string
  /** Its prices, as of `writeTerms`. */
  terms: string
}

/** A row as the index gives it. Its `bytes` are a view that stays valid; do not write to it. */
export type Copy = HeldRow &
  Seller & {
    listingId: string
    /** A generation of a source, as of `CopyIndex.addSource`. */
    source: number
  }

/** The listing of a row with that key. Ids have no line feeds. */
export function listingIdOf(key: string): string {
  const end = key.indexOf('\n')
  return end === -1 ? key : key.slice(0, end)
}

/** Whether both sources have the listing alike. */
export function isSame(one: Copy, other: Copy): boolean {
  return (
    one.seller === other.seller &&
    one.position === other.position &&
    one.status === other.status &&
    Buffer.compare(one.bytes, other.bytes) === 0 &&
    JSON.stringify(one.origin) === JSON.stringify(other.origin)
  )
}
