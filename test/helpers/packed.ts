import {
  FIELD_END,
  fieldsOf,
  LISTING_END,
  type ListingRecord,
  type PackedListings,
} from '../../src/domain/listing.ts'

/** Listings in the form of a store's batch, in their own memory. */
export function packed(records: readonly ListingRecord[]): PackedListings {
  const text = records.map((record) => fieldsOf(record).join(String.fromCharCode(FIELD_END)) + END).join('')
  const bytes = Buffer.from(text)
  return { count: records.length, bytes: new Uint8Array(bytes) }
}

const END = String.fromCharCode(LISTING_END)
