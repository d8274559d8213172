import type { ListingRecord, ListingStatus } from './listing.ts'

/** UTF-8. A listing is its `fieldsOf`, joined by `FIELD_END`, and `LISTING_END`: bytes that JSON lacks. */
export type PackedListings = {
  count: number
  /** In its own buffer, which can be transferred to another thread. */
  bytes: Uint8Array<ArrayBuffer>
}

export const FIELD_END = 0x1f
export const LISTING_END = 0x1e

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

/** The order that `recordOf` reads. */
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
