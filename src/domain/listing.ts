import { formatTimestamp } from './timestamp.ts'

/** Listings do not expire by themselves: a seller sets `expired`. */
export const LISTING_STATUSES = ['open', 'closed', 'expired'] as const
export type ListingStatus = (typeof LISTING_STATUSES)[number]

export const isListingStatus = (value: unknown): value is ListingStatus =>
  LISTING_STATUSES.includes(value as ListingStatus)

/** The members that the seller owns, each as the JSON text that was published. */
export type ListingFields = {
  offerResource: string
  acceptedEscrows: string
  demands: string
  maxDurationSeconds: string
  oracleAddress: string
}

export const NEW_LISTING_FIELDS: ListingFields = {
  offerResource: '{}',
  acceptedEscrows: '[]',
  demands: '[]',
  maxDurationSeconds: 'null',
  oracleAddress: 'null',
}

/** As the store keeps it. Times are microseconds since the Unix epoch, UTC. */
export type ListingRecord = ListingFields & {
  listingId: string
  publisherId: number
  status: ListingStatus
  createdAt: number
  updatedAt: number
}

export type PublishReceipt = Pick<
  ListingRecord,
  'listingId' | 'publisherId' | 'status' | 'createdAt' | 'updatedAt'
>

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

/** In bytes on the wire, of a row that a Registry stores or a gateway shows. */
export const MAX_LISTING_BYTES = 65_536

export function rowHead({
  listingId,
  publisherId,
}: Pick<ListingRecord, 'listingId' | 'publisherId'>): string {
  return ROW.listingId + JSON.stringify(listingId) + ROW.publisherId + publisherId + ROW.storefrontUrl
}

export function rowBytes(record: ListingRecord, storefrontUrl: string | null): number {
  return Buffer.byteLength(renderListing(record, storefrontUrl))
}

/** Bytes of a row without the publisher's id, storefront URL, fields and status. */
export function frameBytes(listingId: string): number {
  const times = 2 * formatTimestamp(0).length
  return Buffer.byteLength(Object.values(ROW).join('') + JSON.stringify(listingId)) + times
}

/** Published fields are kept to the byte. A row changes when its publisher changes its storefront. */
export function renderListing(record: ListingRecord, storefrontUrl: string | null): string {
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
