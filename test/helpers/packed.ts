import { FIELD_END, type ListingRecord, type PackedListings, packListings } from '../../src/domain/listing.ts'

/** Listings in the form of a store's batch, in their own memory. */
export const packed = (records: readonly ListingRecord[]): PackedListings =>
  packListings(
    records.map((record) =>
      [
        record.listingId,
        record.createdAt,
        record.updatedAt,
        record.publisherId,
        record.status,
        record.offerResource,
        record.acceptedEscrows,
        record.demands,
        record.maxDurationSeconds,
        record.oracleAddress,
        record.settlementOptions,
      ].join(FIELD_END),
    ),
  )
