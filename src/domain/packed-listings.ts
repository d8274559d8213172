import type { ListingRecord, ListingStatus } from './listing.ts'

/**
 * Some listings in one piece of memory, as a store reads them: each is its id, publisher's id, status, `created_at`
 * and `updated_at` in decimal microseconds, and the published fields in the order of `ListingFields`, joined by
 * `FIELD_END`; behind each stands `LISTING_END`. Neither can stand in JSON text, nor in an id. In UTF-8.
 */
export type PackedListings = {
  count: number
  /** In a buffer of its own, so that it can be handed to another thread. */
  bytes: Uint8Array<ArrayBuffer>
}

export const FIELD_END = 0x1f
export const LISTING_END = 0x1e

/** The listings, one after the other. */
export function* unpackListings({
  bytes: { buffer, byteOffset, byteLength },
}: PackedListings): Generator<ListingRecord> {
  const bytes = Buffer.from(buffer, byteOffset, byteLength)
  for (let start = 0; start < byteLength; ) {
    const end = bytes.indexOf(LISTING_END, start)
    yield recordOf(bytes.toString('utf8', start, end).split(SEPARATOR))
    start = end + 1
  }
}

const SEPARATOR = String.fromCharCode(FIELD_END)

/** What is kept of a listing, in the order that it is kept in wherever its members have no names. */
export const fieldsOf = (record: ListingRecord): (string | number)[] => [
  record.listingId,
  record.publisherId,
  record.status,
  record.createdAt,
  record.updatedAt,
  record.offerResource,
  record.acceptedEscrows,
  record.demands,
  record.maxDurationSeconds,
  record.oracleAddress,
]

/** The listing of these fields, as `fieldsOf` has them. */
export const recordOf = (fields: readonly string[]): ListingRecord => ({
  listingId: fields[0]!,
  publisherId: Number(fields[1]),
  status: fields[2] as ListingStatus,
  createdAt: Number(fields[3]),
  updatedAt: Number(fields[4]),
  offerResource: fields[5]!,
  acceptedEscrows: fields[6]!,
  demands: fields[7]!,
  maxDurationSeconds: fields[8]!,
  oracleAddress: fields[9]!,
})
