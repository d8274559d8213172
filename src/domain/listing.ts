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

/** Many listings for an index: UTF-8, each as the joined texts of `listingOf`, and an end. JSON lacks both characters. */
export type PackedListings = {
  count: number
  /** In its own buffer, which can be transferred to another thread. */
  bytes: Uint8Array<ArrayBuffer>
}

/** Between the texts of a listing. */
export const FIELD_END = '\u001f'
const LISTING_END = '\u001e'

/** @param listings each as its joined texts */
export const packListings = (listings: readonly string[]): PackedListings => ({
  count: listings.length,
  bytes: new TextEncoder().encode(listings.map((listing) => listing + LISTING_END).join('')),
})

/** By `created_at`. */
export function* unpackListings(pages: readonly PackedListings[]): Generator<ListingRecord> {
  const rows: { createdAt: number; text: string }[] = []
  for (const { bytes } of pages) {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
    for (let start = 0; start < text.length; ) {
      const end = text.indexOf(LISTING_END, start)
      const created = text.indexOf(FIELD_END, start) + 1
      const createdAt = Number(text.slice(created, text.indexOf(FIELD_END, created)))
      rows.push({ createdAt, text: text.slice(start, end) })
      start = end + 1
    }
  }
  for (const { text } of rows.sort((one, other) => one.createdAt - other.createdAt)) {
    const record = listingOf(text.split(FIELD_END))
    // An index keeps it: a slice would keep the text of its page.
    record.listingId = Buffer.from(record.listingId).toString()
    yield record
  }
}

/** Of its id, `created_at`, `updated_at`, publisher, status and `LISTING_FIELDS`, as texts. */
export const listingOf = (texts: readonly string[]): ListingRecord => ({
  listingId: texts[0]!,
  createdAt: Number(texts[1]),
  updatedAt: Number(texts[2]),
  publisherId: Number(texts[3]),
  status: texts[4] as ListingStatus,
  offerResource: texts[5]!,
  acceptedEscrows: texts[6]!,
  demands: texts[7]!,
  maxDurationSeconds: texts[8]!,
  oracleAddress: texts[9]!,
  settlementOptions: texts[10]!,
})

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
