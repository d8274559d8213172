import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { ApiKey, KeyScope } from '../domain/api-key.ts'
import type { ListingRecord, ListingStatus } from '../domain/listing.ts'
import { FIELD_END, LISTING_END } from '../domain/packed-listings.ts'
import type { Publisher } from '../domain/publisher.ts'

/** Takes half the time of a row with names, which counts where every listing is read. */
export type Row = Record<number, SQLOutputValue>

/** Node 22 lacks this as an option of `prepare`. */
export function prepareArrays(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql)
  statement.setReturnArrays(true)
  return statement
}

export const LISTING_COLUMNS =
  'listing_id, publisher_id, status, created_at, updated_at, ' +
  'offer_resource, accepted_escrows, demands, max_duration_seconds, oracle_address'

export const listingAt = (row: Row, first = 0): ListingRecord => ({
  listingId: row[first] as string,
  publisherId: row[first + 1] as number,
  status: row[first + 2] as ListingStatus,
  createdAt: row[first + 3] as number,
  updatedAt: row[first + 4] as number,
  offerResource: row[first + 5] as string,
  acceptedEscrows: row[first + 6] as string,
  demands: row[first + 7] as string,
  maxDurationSeconds: row[first + 8] as string,
  oracleAddress: row[first + 9] as string,
})

/** SQLite joins the texts: strings would double the time, and so would an order in `group_concat`. */
export const PACKED_LISTINGS = `
SELECT count(*), CAST(group_concat(packed, '') AS BLOB), max(created_at) FROM (
  SELECT created_at, concat_ws(char(${FIELD_END}), ${LISTING_COLUMNS}) || char(${LISTING_END}) AS packed
  FROM listing WHERE created_at > ? AND created_at <= ? ORDER BY created_at LIMIT ?
)`

export const PUBLISHER_COLUMNS = 'publisher_id, scheme, identifier, storefront_url, created_at, updated_at'

export const publisherOf = (row: Row): Publisher => ({
  publisherId: row[0] as number,
  scheme: row[1] as string,
  identifier: row[2] as string,
  storefrontUrl: row[3] as string | null,
  createdAt: row[4] as number,
  updatedAt: row[5] as number,
})

export const KEY_COLUMNS = 'id, name, scope, hash, created_at, revoked_at'

export const keyOf = (row: Row): ApiKey => ({
  id: row[0] as number,
  name: row[1] as string,
  scope: row[2] as KeyScope,
  hash: row[3] as string,
  createdAt: row[4] as number,
  revokedAt: row[5] as number | null,
})
