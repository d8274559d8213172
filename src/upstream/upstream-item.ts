import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json.ts'
import { withoutMember } from '../domain/json-members.ts'
import type { Item } from '../domain/page.ts'
import { parseTimestamp } from '../domain/timestamp.ts'
import type { UpstreamKind } from '../domain/upstream.ts'
import { readOrigin } from './origin.ts'

export const MAX_ID_LENGTH = 200

/** A listing of an upstream: its bytes as they came, less `_meta`, and what decides whether it is shown. */
export type UpstreamItem = {
  item: Item
  /** `null` where that is no text. */
  status: string | null
  publisherId: JsonValue | undefined
}

/** What is known of an element of `items`. */
export type ReadElement = {
  /** `null` for one that is no listing, or not one that anybody should see. */
  listing: UpstreamItem | null
  /** A seller decides what her listing says and how long it is, not that it is an object and has an id. */
  isNobodys: boolean
}

/** What the members of a listing say that are looked at. */
export type Members = {
  listingId: JsonValue | undefined
  publisherId: JsonValue | undefined
  storefrontUrl: JsonValue | undefined
  status: JsonValue | undefined
  created: JsonValue | undefined
}

/** @param told what a gateway says of it */
export const readMembers = (
  bytes: Uint8Array,
  { listingId, publisherId, storefrontUrl, status, created }: Members,
  told: Pick<Item, 'publisher' | 'origin'> = UNTOLD,
): ReadElement => {
  if (typeof listingId !== 'string') return NOBODYS
  const createdAt = typeof created === 'string' ? parseTimestamp(created) : null
  if (createdAt === null || !isListingId(listingId)) return NO_LISTING
  const item = {
    bytes,
    listingId,
    createdAt,
    storefrontUrl: typeof storefrontUrl === 'string' ? storefrontUrl : null,
    ...told,
  }
  const listing = { item, status: typeof status === 'string' ? status : null, publisherId }
  return { listing, isNobodys: false }
}

/** @param document what the bytes say; `undefined` where nobody has looked */
export const readDocument = (
  bytes: Buffer,
  document: JsonValue | undefined,
  kind: UpstreamKind,
): ReadElement => {
  if (document === undefined) return NO_LISTING
  if (!isJsonObject(document)) return NOBODYS
  const members = {
    listingId: document.listing_id,
    publisherId: document.publisher_id,
    storefrontUrl: document.storefront_url,
    status: document.status,
    created: document.created_at,
  }
  const told = kind === 'gateway' ? readOrigin(document._meta) : UNTOLD
  return readMembers(withoutMeta(bytes, document), members, told)
}

const UNTOLD: Pick<Item, 'publisher'> = { publisher: null }
const NOBODYS: ReadElement = { listing: null, isNobodys: true }
const NO_LISTING: ReadElement = { listing: null, isNobodys: false }

const isListingId = (value: string): boolean =>
  value.length > 0 && value.length <= MAX_ID_LENGTH && value.isWellFormed() && !CONTROL.test(value)

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

const withoutMeta = (bytes: Buffer, document: JsonObject): Uint8Array =>
  Object.hasOwn(document, '_meta') ? withoutMember(bytes, '_meta') : bytes
