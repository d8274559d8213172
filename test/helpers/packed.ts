import {
  FIELD_END,
  fieldsOf,
  LISTING_END,
  type ListingRecord,
  type PackedListings,
} from '../../src/domain/listing.ts'

/** Listings as a store hands them over, in memory of their own. */
export function packed(records: readonly ListingRecord[]): PackedListings {
  const text = records.map((record) => fieldsOf(record).join(String.fromCharCode(FIELD_END)) + END).join('')
  const bytes = Buffer.from(text)
  return { count: records.length, bytes: new Uint8Array(bytes) }
}

const END = String.fromCharCode(LISTING_END)
