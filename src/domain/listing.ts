import { formatTimestamp } from './timestamp.ts'

/** `protocol.md` 1.2. Nothing expires a listing by itself: `expired` appears only where a seller sets it. */
export const LISTING_STATUSES = ['open', 'closed', 'expired'] as const
export type ListingStatus = (typeof LISTING_STATUSES)[number]

export const isListingStatus = (value: unknown): value is ListingStatus =>
  LISTING_STATUSES.includes(value as ListingStatus)

/** The members of a listing that its seller owns, each as the JSON text that was published. */
export type ListingFields = {
  offerResource: string
  acceptedEscrows: string
  demands: string
  maxDurationSeconds: string
  oracleAddress: string
}

/** What a new listing holds where its publish request says nothing (`protocol.md` 1.5). */
export const NEW_LISTING_FIELDS: ListingFields = {
  offerResource: '{}',
  acceptedEscrows: '[]',
  demands: '[]',
  maxDurationSeconds: 'null',
  oracleAddress: 'null',
}

/** A listing as the store keeps it. Times are microseconds since the Unix epoch, UTC. */
export type ListingRecord = ListingFields & {
  listingId: string
  publisherId: number
  status: ListingStatus
  createdAt: number
  updatedAt: number
}

/** What the answer to a publish is made of (`protocol.md` 1.5). */
export type PublishReceipt = Pick<
  ListingRecord,
  'listingId' | 'publisherId' | 'status' | 'createdAt' | 'updatedAt'
>

/**
 * The listing's row on the wire, `protocol.md` 1.6: fixed key order, published fields to the byte.
 * `storefrontUrl` is the publisher's, so a row changes when its publisher moves.
 */
export const renderListing = (record: ListingRecord, storefrontUrl: string | null): string => {
  const { createdAt, updatedAt } = record
  const created = formatTimestamp(createdAt)
  const updated = updatedAt === createdAt ? created : formatTimestamp(updatedAt)
  return (
    `{"listing_id":${JSON.stringify(record.listingId)}` +
    `,"publisher_id":${record.publisherId}` +
    `,"storefront_url":${JSON.stringify(storefrontUrl)}` +
    `,"offer_resource":${record.offerResource}` +
    `,"accepted_escrows":${record.acceptedEscrows}` +
    `,"demands":${record.demands}` +
    `,"max_duration_seconds":${record.maxDurationSeconds}` +
    `,"oracle_address":${record.oracleAddress}` +
    `,"status":"${record.status}"` +
    `,"created_at":"${created}"` +
    `,"updated_at":"${updated}"}`
  )
}
