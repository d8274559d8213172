import type { PublishReceipt } from '../domain/listing.ts'
import { formatTimestamp } from '../domain/timestamp.ts'

/** The answer to a publish, in the protocol's key order (`protocol.md` 1.5). */
export const receiptOnWire = ({ listingId, publisherId, status, createdAt, updatedAt }: PublishReceipt) => ({
  listing_id: listingId,
  publisher_id: publisherId,
  status,
  created_at: formatTimestamp(createdAt),
  updated_at: formatTimestamp(updatedAt),
})
