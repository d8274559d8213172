import { damagedRow } from '../errors.ts'
import { LISTING_FIELDS, type ListingRecord, type ListingStatus } from './listing.ts'
import type { Micros } from './timestamp.ts'

/** A listing as a store keeps it. `at`: the time of its latest change. */
type ListingRow = { key: string; value: string; createdAt: Micros; at: Micros }

const FIELDS = Object.values(LISTING_FIELDS)
/** JSON lacks it. */
const FIELD_END = '\u001f'

/** The value of its row. @throws Error for text that would break it, which JSON never does */
export function listingText(record: ListingRecord): string {
  const fields = FIELDS.map((field) => record[field])
  if (fields.some((json) => json === '' || json.includes(FIELD_END)))
    throw new Error('a listing field is not JSON text')
  return [record.publisherId, record.status, ...fields].join(FIELD_END)
}

/** @throws EntrepotError as `damagedRow` */
export function listingFrom({ key, value, createdAt, at }: ListingRow): ListingRecord {
  const [publisherId, status, ...texts] = value.split(FIELD_END)
  if (texts.length !== FIELDS.length) throw damagedRow('listing', key)
  return {
    listingId: key,
    createdAt,
    updatedAt: at,
    publisherId: Number(publisherId),
    status: status as ListingStatus,
    offerResource: texts[0]!,
    acceptedEscrows: texts[1]!,
    demands: texts[2]!,
    maxDurationSeconds: texts[3]!,
    oracleAddress: texts[4]!,
    settlementOptions: texts[5]!,
  }
}
