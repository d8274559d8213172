import { formatTimestamp } from './timestamp.ts'

/** Nothing expires a listing by itself: `expired` appears only where a seller sets it. */
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

/** What a new listing holds where its publish request says nothing. */
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

/** What the answer to a publish is made of. */
export type PublishReceipt = Pick<
  ListingRecord,
  'listingId' | 'publisherId' | 'status' | 'createdAt' | 'updatedAt'
>

/** The text before each value of a row on the wire, and behind the last. */
export const ROW = {
  listingId: '{"listing_id":',
  publisherId: ',"publisher_id":',
  storefrontUrl: ',"storefront_url":',
  offerResource: ',"offer_resource":',
  acceptedEscrows: ',"accepted_escrows":',
  demands: ',"demands":',
  maxDurationSeconds: ',"max_duration_seconds":',
  oracleAddress: ',"oracle_address":',
  status: ',"status":"',
  createdAt: '","created_at":"',
  updatedAt: '","updated_at":"',
  end: '"}',
} as const

/** The largest row that a Registry stores, in bytes on the wire: gateways show no larger one. */
export const MAX_LISTING_BYTES = 65_536

/** The row's text before its storefront URL. */
export function rowHead({
  listingId,
  publisherId,
}: Pick<ListingRecord, 'listingId' | 'publisherId'>): string {
  return ROW.listingId + JSON.stringify(listingId) + ROW.publisherId + publisherId + ROW.storefrontUrl
}

/** The row's bytes on the wire. */
export function rowBytes(record: ListingRecord, storefrontUrl: string | null): number {
  return Buffer.byteLength(renderListing(record, storefrontUrl))
}

/** The same without the publisher's id, the storefront URL, the fields and the status. */
export function frameBytes(listingId: string): number {
  const times = 2 * formatTimestamp(0).length
  return Buffer.byteLength(Object.values(ROW).join('') + JSON.stringify(listingId)) + times
}

/**
 * The listing's row on the wire: fixed key order, published fields to the byte.
 * `storefrontUrl` is the publisher's, so a row changes when its publisher moves.
 */
export const renderListing = (record: ListingRecord, storefrontUrl: string | null): string => {
  const { createdAt, updatedAt } = record
  const created = formatTimestamp(createdAt)
  const updated = updatedAt === createdAt ? created : formatTimestamp(updatedAt)
  return (
    rowHead(record) +
    JSON.stringify(storefrontUrl) +
    ROW.offerResource +
    record.offerResource +
    ROW.acceptedEscrows +
    record.acceptedEscrows +
    ROW.demands +
    record.demands +
    ROW.maxDurationSeconds +
    record.maxDurationSeconds +
    ROW.oracleAddress +
    record.oracleAddress +
    ROW.status +
    record.status +
    ROW.createdAt +
    created +
    ROW.updatedAt +
    updated +
    ROW.end
  )
}
