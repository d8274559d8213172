import { isJsonObject, type JsonObject, type JsonValue, objectMembers, parseJson } from '../domain/json.ts'
import {
  isListingStatus,
  type ListingFields,
  type ListingStatus,
  NEW_LISTING_FIELDS,
} from '../domain/listing.ts'
import { EntrepotError } from '../errors.ts'

/** A JSON object as it arrived: its bytes, and what they say. */
export type JsonBody = { bytes: Uint8Array; value: JsonObject }

export const MAX_LISTING_ID_LENGTH = 200
export const MAX_STOREFRONT_URL_LENGTH = 2048

/** Wire name → record member, of the fields that a seller publishes (`protocol.md` 1.5). */
const FIELDS = {
  offer_resource: 'offerResource',
  accepted_escrows: 'acceptedEscrows',
  demands: 'demands',
  max_duration_seconds: 'maxDurationSeconds',
  oracle_address: 'oracleAddress',
} as const satisfies Record<string, keyof ListingFields>

const isFieldName = (name: string): name is keyof typeof FIELDS => Object.hasOwn(FIELDS, name)

/** The signing address that the request claims, lower-cased as the message has it. */
export const readIdentifier = ({ identifier }: JsonObject): string => {
  if (typeof identifier !== 'string' || identifier === '')
    throw new EntrepotError('bad_request', 'identifier is required')
  return identifier.toLowerCase()
}

/** Empty or null means the default (`protocol.md` 1.5). */
export const readScheme = ({ scheme }: JsonObject): string => {
  if (scheme === undefined || scheme === null || scheme === '') return 'eip191'
  if (typeof scheme !== 'string') throw invalid('scheme', 'Input should be a valid string')
  return scheme
}

/** A number is taken for its digits, as the deployed protocol stores it. */
export const readListingId = ({ listing_id: value }: JsonObject): string => {
  if (value === undefined || value === null || value === '' || value === 0 || value === false)
    throw new EntrepotError('bad_request', 'listing_id is required')
  const id = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value
  if (typeof id !== 'string') throw invalid('listing_id', 'Input should be a valid string')
  if (id.length > MAX_LISTING_ID_LENGTH)
    throw invalid('listing_id', `String should have at most ${MAX_LISTING_ID_LENGTH} characters`)
  if (/\p{Cc}/u.test(id)) throw invalid('listing_id', 'String should have no control characters')
  if (!id.isWellFormed()) throw invalid('listing_id', 'String should be well-formed Unicode')
  return id
}

/** `null` leaves the publisher's URL as it is; so do the empty string and an absent member. */
export const readStorefrontUrl = ({ storefront_url: value }: JsonObject): string | null => {
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw invalid('storefront_url', 'Input should be a valid string')
  if (value.length > MAX_STOREFRONT_URL_LENGTH)
    throw invalid('storefront_url', `String should have at most ${MAX_STOREFRONT_URL_LENGTH} characters`)
  if (!value.isWellFormed()) throw invalid('storefront_url', 'String should be well-formed Unicode')
  return value
}

/** `null` where the request says nothing about the status, which keeps it. */
export const readStatus = (value: JsonObject): ListingStatus | null => {
  if (!Object.hasOwn(value, 'status')) return null
  if (isListingStatus(value.status)) return value.status
  throw new EntrepotError('bad_request', `Invalid status: ${shown(value.status)}`)
}

/** The published fields as JSON text, to the byte. A null one is left out, which keeps what is stored. */
export const readFields = ({ bytes }: JsonBody): Partial<ListingFields> => {
  const fields: Partial<ListingFields> = {}
  for (const { name, value } of objectMembers(bytes)) {
    if (!isFieldName(name)) continue
    const text = Buffer.from(bytes.subarray(value.start, value.end)).toString('utf8')
    const field = FIELDS[name]
    if (text === 'null') delete fields[field]
    else fields[field] = NORMALISE[field](text, field)
  }
  return fields
}

/** A field that arrived as a string of JSON reads as what is inside, or as empty where that is not JSON. */
const decodeBlob = (text: string, field: keyof ListingFields): string => {
  if (!text.startsWith('"')) return text
  const inner: string = JSON.parse(text)
  try {
    const value = parseJson(inner)
    return value === null ? NEW_LISTING_FIELDS[field] : inner.trim()
  } catch {
    return NEW_LISTING_FIELDS[field]
  }
}

/** `"3600"` is 3600 and `true` is 1: the deployed Registry keeps this field in an integer column. */
const decodeDuration = (text: string): string => {
  if (text === 'true') return '1'
  if (text === 'false') return '0'
  return /^"(0|-?[1-9]\d*)"$/.test(text) ? text.slice(1, -1) : text
}

const NORMALISE: Readonly<Record<keyof ListingFields, (text: string, field: keyof ListingFields) => string>> =
  {
    offerResource: decodeBlob,
    acceptedEscrows: decodeBlob,
    demands: decodeBlob,
    maxDurationSeconds: decodeDuration,
    oracleAddress: (text) => text,
  }

const shown = (value: JsonValue | undefined): string => {
  if (value === null || value === undefined) return 'None'
  return isJsonObject(value) || Array.isArray(value) ? 'an object or array' : String(value)
}

const invalid = (member: string, message: string): EntrepotError =>
  new EntrepotError('invalid', `${member}: ${message}`, { errors: [{ path: `body.${member}`, message }] })
