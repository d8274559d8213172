import { z } from 'zod'
import {
  type FieldName,
  isListingStatus,
  LISTING_FIELDS,
  LISTING_STATUSES,
  type ListingFields,
  type ListingStatus,
  MAX_LISTING_ID_LENGTH,
  unknownStatus,
} from '../../domain/listing.ts'
import { EntrepotError } from '../../errors.ts'
import { objectMembers } from '../../json/members.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../json/value.ts'
import { invalid, invalidBody } from '../errors.ts'

export type JsonBody = { bytes: Uint8Array; value: JsonObject }

const MAX_STOREFRONT_URL_LENGTH = 2048

/** `most` counts code points. */
const text = (most: number) =>
  z
    .string('Input should be a valid string')
    .refine((value) => [...value].length <= most, `String should have at most ${most} characters`)
    .refine((value) => value.isWellFormed(), 'String should be well-formed Unicode')
    .meta({ maxLength: most })

/** `''` means no URL. Credentials in a URL obscure where it leads (RFC 9110 section 4.2.4). */
function isStorefrontUrl(value: string): boolean {
  if (value === '') return true
  const url = /^https?:\/\/[^\s\p{Cc}]+$/iu.test(value) ? URL.parse(value) : null
  return url !== null && url.username === '' && url.password === ''
}

const missingOr =
  (message: string) =>
  ({ input }: { input?: unknown }): string =>
    input === undefined ? 'Field required' : message

const LIST = 'Input should be a valid list'
const DICTIONARY = 'Input should be a valid dictionary'
export const string = z.string({ error: missingOr('Input should be a valid string') })
export const object = z.custom<JsonObject>(isJsonObject, DICTIONARY).meta({ type: 'object' })
export const objects = z.array(object, LIST)
export const integer = z
  .custom<number | bigint>(isInteger, 'Input should be a valid integer')
  .meta({ type: 'integer' })

/** Null members count as absent. */
const texts = z.record(z.string(), string.nullable(), DICTIONARY)
const escrow = z.looseObject(
  {
    chain_name: string.nullish(),
    escrow_address: string.nullish(),
    literal_fields: texts.nullish(),
    rates: z.array(texts, LIST).nullish(),
  },
  DICTIONARY,
)

function isInteger(value: unknown): boolean {
  return typeof value === 'bigint' || Number.isInteger(value)
}

const NULL_KEEPS = 'Omitted or null: unchanged'

/** Without `\p{…}`: readers of JSON Schema often compile patterns without the `u` flag. */
const NO_CONTROL_CHARACTERS = /^[^\u0000-\u001f\u007f-\u009f]*$/

export const publishRequest = z
  .looseObject({
    identifier: z
      .string()
      .min(1)
      .describe('The signing address, in any case; signed as it is here or in lower case'),
    signature: z.string().describe('65 bytes in hex, with or without 0x'),
    timestamp: z.int().describe('Unix seconds, at most 300 off'),
    scheme: z.string('Input should be a valid string').nullable().default('eip191'),
    listing_id: text(MAX_LISTING_ID_LENGTH)
      .min(1)
      .regex(NO_CONTROL_CHARACTERS, 'String should have no control characters')
      .refine((id) => id !== '.' && id !== '..', 'String should not be . or .., which no URL can name'),
    storefront_url: text(MAX_STOREFRONT_URL_LENGTH)
      .refine(isStorefrontUrl, 'Input should be an http or https URL without credentials')
      .nullish()
      .describe("Replaces the publisher's URL, for all its listings; null, empty or absent keeps it"),
    offer_resource: object.nullish().describe(`By the listing shape. ${NULL_KEEPS}`),
    accepted_escrows: z.array(escrow, LIST).nullish().describe(`By the listing shape. ${NULL_KEEPS}`),
    demands: z.array(z.unknown(), LIST).nullish().describe(NULL_KEEPS),
    max_duration_seconds: integer.nullish().describe(NULL_KEEPS),
    oracle_address: string.nullish().describe(NULL_KEEPS),
    status: z.enum(LISTING_STATUSES).optional().describe('Absent keeps it; a new listing is open'),
  })
  .meta({ id: 'PublishRequest', description: 'Signed over create_listing:<identifier>:<timestamp>' })

export const updateRequest = z
  .looseObject({
    ...publishRequest.pick({ signature: true, timestamp: true, status: true }).shape,
    oracle_address: publishRequest.shape.oracle_address.describe('Replaces the oracle; null clears it'),
  })
  .meta({ id: 'UpdateRequest', description: 'Signed over update_listing:<listing_id>:<timestamp>' })

/** As the body has it. */
export function readIdentifier({ identifier }: JsonObject): string {
  const { success, data } = publishRequest.shape.identifier.safeParse(identifier)
  if (success) return data
  throw new EntrepotError('bad_request', 'identifier is required')
}

export const readScheme = ({ scheme }: JsonObject): string => check('scheme', scheme) || 'eip191'

/** A number becomes its digits, as in the deployed protocol. */
export function readListingId({ listing_id: value }: JsonObject): string {
  if (!value) throw new EntrepotError('bad_request', 'listing_id is required')
  return check('listing_id', typeof value === 'number' || typeof value === 'bigint' ? String(value) : value)
}

/** The signed line refuses a number. */
export function readSignedListingId({ listing_id: value }: JsonObject): string {
  if (typeof value !== 'string' || value === '')
    throw new EntrepotError('bad_request', 'listing_id is required')
  return check('listing_id', value)
}

/** `''` and `null` keep a known publisher's URL. */
export const readStorefrontUrl = ({ storefront_url }: JsonObject): string | null =>
  check('storefront_url', storefront_url) ?? null

/** @throws EntrepotError `invalid` for members of another JSON type, each with its path */
export function requireTypes(value: JsonObject, isName = isFieldName): void {
  const { error } = memberTypes.safeParse(
    Object.fromEntries(Object.entries(value).filter(([name]) => isName(name))),
  )
  if (error !== undefined) throw invalidBody(error)
}

const memberTypes = publishRequest
  .pick({
    offer_resource: true,
    accepted_escrows: true,
    demands: true,
    max_duration_seconds: true,
    oracle_address: true,
  })
  .extend({ settlement_options: objects.nullish() })

/** `null` keeps the status. */
export function readStatus(value: JsonObject): ListingStatus | null {
  if (!Object.hasOwn(value, 'status')) return null
  if (isListingStatus(value.status)) return value.status
  throw unknownStatus(describeValue(value.status))
}

type Checked = 'scheme' | 'listing_id' | 'storefront_url'

function check<Name extends Checked>(
  name: Name,
  value: JsonValue | undefined,
): z.output<(typeof publishRequest.shape)[Name]> {
  const result = publishRequest.shape[name].safeParse(value)
  if (result.success) return result.data as z.output<(typeof publishRequest.shape)[Name]>
  const [{ message } = { message: '' }] = result.error.issues
  throw invalid([{ path: `body.${name}`, message }])
}

function describeValue(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return 'None'
  return isJsonObject(value) || Array.isArray(value) ? 'an object or array' : String(value).slice(0, 200)
}

/** Byte-exact JSON text of the published fields; a null one is left out, which keeps the stored value. */
export function readFields(body: Uint8Array, isName: IsFieldName): Partial<ListingFields> {
  const fields: Partial<ListingFields> = {}
  for (const { name, value } of objectMembers(body)) {
    if (!isName(name)) continue
    const text = Buffer.from(body.subarray(value.start, value.end)).toString('utf8')
    const member = LISTING_FIELDS[name]
    if (text === 'null') delete fields[member]
    else fields[member] = text
  }
  return fields
}

/** Unlike on publish, `null` clears the oracle. */
export function readOracle(body: Uint8Array): Pick<Partial<ListingFields>, 'oracleAddress'> {
  const member = objectMembers(body).findLast(({ name }) => name === 'oracle_address')
  if (member === undefined) return {}
  return { oracleAddress: Buffer.from(body.subarray(member.value.start, member.value.end)).toString('utf8') }
}

export type IsFieldName = (name: string) => name is FieldName

export const isFieldName: IsFieldName = (name): name is FieldName => Object.hasOwn(LISTING_FIELDS, name)

/** The plain line has no settlement options, and ignores what it does not know. */
export const isPlainName: IsFieldName = (name): name is FieldName =>
  isFieldName(name) && name !== 'settlement_options'
