import { EntrepotError } from '../errors.ts'
import { formatTimestamp } from './timestamp.ts'

/** Listings do not expire by themselves: a seller sets `expired`. */
export const LISTING_STATUSES = ['open', 'closed', 'expired'] as const
export type ListingStatus = (typeof LISTING_STATUSES)[number]

export const isListingStatus = (value: unknown): value is ListingStatus =>
  LISTING_STATUSES.includes(value as ListingStatus)

/** In the deployed protocol's words, which do not quote it. */
export const unknownStatus = (status: string): EntrepotError =>
  new EntrepotError('bad_request', `Invalid status: ${status}`, { logged: 'Invalid status: …' })

/** The members that the seller owns, by their names on the wire, in the order of a row. */
export const LISTING_FIELDS = {
  offer_resource: 'offerResource',
  accepted_escrows: 'acceptedEscrows',
  demands: 'demands',
  max_duration_seconds: 'maxDurationSeconds',
  oracle_address: 'oracleAddress',
  settlement_options: 'settlementOptions',
} as const

export type FieldName = keyof typeof LISTING_FIELDS

/** Each as the JSON text that was published. */
export type ListingFields = Record<(typeof LISTING_FIELDS)[FieldName], string>

export const NEW_LISTING_FIELDS: ListingFields = {
  offerResource: '{}',
  acceptedEscrows: '[]',
  demands: '[]',
  maxDurationSeconds: 'null',
  oracleAddress: 'null',
  settlementOptions: '[]',
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

const ROW = {
  listingId: '{"listing_id":',
  publisherId: ',"publisher_id":',
  storefrontUrl: ',"storefront_url":',
  offerResource: ',"offer_resource":',
  acceptedEscrows: ',"accepted_escrows":',
  demands: ',"demands":',
  maxDurationSeconds: ',"max_duration_seconds":',
  oracleAddress: ',"oracle_address":',
  /** Only where there are some. */
  settlementOptions: ',"settlement_options":',
  status: ',"status":"',
  createdAt: '","created_at":"',
  updatedAt: '","updated_at":"',
  end: '"}',
} as const

/** In bytes on the wire, of a row that a Registry stores or a gateway shows. */
export const MAX_LISTING_BYTES = 65_536

/** Code points. */
export const MAX_LISTING_ID_LENGTH = 200

/** Whether a listing may have an id of this length. */
export function hasIdLength(id: string): boolean {
  if (id.length <= MAX_LISTING_ID_LENGTH) return true
  return id.length <= 2 * MAX_LISTING_ID_LENGTH && [...id].length <= MAX_LISTING_ID_LENGTH
}

export function rowHead({
  listingId,
  publisherId,
}: Pick<ListingRecord, 'listingId' | 'publisherId'>): string {
  return ROW.listingId + JSON.stringify(listingId) + ROW.publisherId + publisherId + ROW.storefrontUrl
}

export function rowBytes(record: ListingRecord, storefrontUrl: string | null): number {
  return Buffer.byteLength(renderListing(record, storefrontUrl))
}

/** Of a row, what these published fields take. */
export function fieldBytes(fields: Partial<ListingFields>): number {
  return Object.values(fields).reduce((sum, text) => sum + Buffer.byteLength(text), 0)
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
    settlementMember(record) +
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

/** Rows without options are those of the plain line, byte for byte. */
const settlementMember = ({ settlementOptions }: ListingRecord): string =>
  settlementOptions === NEW_LISTING_FIELDS.settlementOptions ? '' : ROW.settlementOptions + settlementOptions

/** Into the past and into the future. */
export const MAX_TIMESTAMP_SKEW_SECONDS = 300
/** Clock difference between replicas up to which a repeat is answered; beyond it the repeat is refused. */
const CLOCK_MARGIN_SECONDS = 300

/** From its timestamp on, a used signature is remembered with its answer for so long. */
export const USE_SECONDS = MAX_TIMESTAMP_SKEW_SECONDS + CLOCK_MARGIN_SECONDS

export type ClaimOperation = 'create_listing' | 'update_listing' | 'delete_listing'

/** What a seller's wallet signs as an EIP-191 personal message: docs/protocol.md#3-signatures. */
export const signedMessage = (operation: ClaimOperation, subject: string, timestamp: number): string =>
  `${operation}:${subject}:${timestamp}`
