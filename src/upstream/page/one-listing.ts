import { isJsonObject, type JsonValue } from '../../domain/json.ts'
import { objectMembers } from '../../domain/json-members.ts'
import { SourceError } from '../../domain/source-error.ts'
import { MAX_ITEM_BYTES } from './page-item.ts'

export const NO_LISTING = Buffer.from('{"items":[],"count":0,"total_after_filter":0}')

/** A gateway's answer also has `sources`. */
const MAX_AROUND_BYTES = 64 * 1024

/**
 * @throws SourceError `not_json` | `too_large` | `bad_envelope`, the last also for a listing of another id
 */
export function wrapListing(body: Buffer, listingId: string): Buffer {
  if (body.length > MAX_ITEM_BYTES + MAX_AROUND_BYTES)
    throw new SourceError('too_large', 'the listing is longer than a listing may be')
  const value = parse(body)
  // The deployed clients also accept a bare row.
  const listing = isJsonObject(value) && isJsonObject(value.listing) ? value.listing : value
  if (!isJsonObject(listing) || listing.listing_id !== listingId)
    throw new SourceError('bad_envelope', 'the answer is not the listing that was asked for')
  const row = listing === value ? body : memberOf(body, 'listing')
  const { complete, sources } = listing === value || !isJsonObject(value) ? {} : value
  const missing = complete === false ? `,"complete":false,"sources":${JSON.stringify(sources ?? [])}` : ''
  return Buffer.concat([PAGE_START, row, Buffer.from(`],"count":1,"total_after_filter":1${missing}}`)])
}

const PAGE_START = Buffer.from('{"items":[')

function memberOf(body: Buffer, name: string): Buffer {
  const member = objectMembers(body).findLast((one) => one.name === name)!
  return body.subarray(member.value.start, member.value.end)
}

function parse(body: Buffer): JsonValue {
  try {
    return JSON.parse(body.toString())
  } catch (cause) {
    throw new SourceError('not_json', 'the answer is not JSON', { cause })
  }
}
