import { z } from 'zod'
import {
  type FieldName,
  isListingStatus,
  LISTING_FIELDS,
  LISTING_STATUSES,
  type ListingFields,
  type ListingStatus,
  MAX_LISTING_ID_LENGTH,
  NEW_LISTING_FIELDS,
  unknownStatus,
} from '../../domain/listing.ts'
import { EntrepotError } from '../../errors.ts'
import { memberDepthProblem, sizeProblem } from '../../json/limits.ts'
import { objectMembers } from '../../json/members.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../json/value.ts'
import { invalid } from '../errors.ts'

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

/** The deployed Registry keeps it in a column for one value: not an array or an object. */
const scalar = (expected: string) =>
  z
    .custom<JsonValue>(
      (value) => value === null || typeof value !== 'object',
      `Input should be ${expected} or null`,
    )
    .optional()
    .meta({ type: ['string', 'number', 'boolean', 'null'] })

const NULL_KEEPS = 'Omitted or null: unchanged'

/** Without `\p{…}`: readers of JSON Schema often compile patterns without the `u` flag. */
const NO_CONTROL_CHARACTERS = /^[^\u0000-\u001f\u007f-\u009f]*$/

export const publishRequest = z
  .looseObject({
    identifier: z.string().min(1).describe('The signing address; case does not matter'),
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
    offer_resource: z.unknown().optional().describe(`An object by the listing shape. ${NULL_KEEPS}`),
    accepted_escrows: z.unknown().optional().describe(`An array by the listing shape. ${NULL_KEEPS}`),
    demands: z.unknown().optional().describe(`An array. ${NULL_KEEPS}`),
    max_duration_seconds: scalar('an integer').describe(`An integer. ${NULL_KEEPS}`),
    oracle_address: scalar('a string').describe(`A string. ${NULL_KEEPS}`),
    status: z.enum(LISTING_STATUSES).optional().describe('Absent keeps it; a new listing is open'),
  })
  .meta({ id: 'PublishRequest', description: 'Signed over create_listing:<identifier>:<timestamp>' })

export function readIdentifier({ identifier }: JsonObject): string {
  const { success, data } = publishRequest.shape.identifier.safeParse(identifier)
  if (success) return data.toLowerCase()
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

/** @throws EntrepotError `invalid` for an array or an object */
export function requireScalars(
  value: JsonObject,
  ...names: ('max_duration_seconds' | 'oracle_address')[]
): void {
  for (const name of names) check(name, value[name])
}

/** `null` keeps the status. */
export function readStatus(value: JsonObject): ListingStatus | null {
  if (!Object.hasOwn(value, 'status')) return null
  if (isListingStatus(value.status)) return value.status
  throw unknownStatus(describeValue(value.status))
}

type Checked = 'scheme' | 'listing_id' | 'storefront_url' | 'max_duration_seconds' | 'oracle_address'

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

/**
 * Byte-exact JSON text of the published fields; a null one is left out, which keeps the stored value.
 * @throws EntrepotError `invalid` for a field that nests too deep, or exceeds a limit inside a string of JSON
 */
export function readFields(body: Uint8Array, isName: IsFieldName): Partial<ListingFields> {
  const fields: Partial<ListingFields> = {}
  for (const { name, value } of objectMembers(body)) {
    if (!isName(name)) continue
    const bytes = body.subarray(value.start, value.end)
    refuseField(name, memberDepthProblem(bytes))
    const text = Buffer.from(bytes).toString('utf8')
    const member = LISTING_FIELDS[name]
    if (text === 'null') delete fields[member]
    else fields[member] = NORMALISE[name](text, name)
  }
  return fields
}

type IsFieldName = (name: string) => name is FieldName

export const isFieldName: IsFieldName = (name): name is FieldName => Object.hasOwn(LISTING_FIELDS, name)

/** The plain line has no settlement options, and ignores what it does not know. */
export const isPlainName: IsFieldName = (name): name is FieldName =>
  isFieldName(name) && name !== 'settlement_options'

/** A string of JSON is read as its content (of `null`: null), or as empty if that is not JSON. */
function decodeBlob(text: string, name: FieldName): string {
  if (!text.startsWith('"')) return text
  const inner: string = JSON.parse(text)
  const bytes = Buffer.from(inner)
  refuseField(name, memberDepthProblem(bytes))
  if (tryParse(inner) === undefined) return NEW_LISTING_FIELDS[LISTING_FIELDS[name]]
  refuseField(name, sizeProblem(bytes))
  return inner.trim()
}

function refuseField(name: FieldName, problem: string | null): void {
  if (problem !== null) throw invalid([{ path: `body.${name}`, message: problem }])
}

function tryParse(text: string): JsonValue | undefined {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** `"3600"` is 3600 and `true` is 1: the deployed Registry keeps this field in an integer column of SQLite. */
function decodeDuration(text: string): string {
  if (text === 'true') return '1'
  if (text === 'false') return '0'
  return text.startsWith('"') ? (columnNumber(JSON.parse(text)) ?? text) : text
}

const NUMERIC_TEXT = /^[ \t-\r]*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)[ \t-\r]*$/i
const INTEGER_TEXT = /^[+-]?0*\d{1,19}$/

/** The JSON number that an integer column makes of a text: https://sqlite.org/datatype3.html. `null`: it stays a text. */
function columnNumber(text: string): string | null {
  const [, digits] = NUMERIC_TEXT.exec(text) ?? []
  if (digits === undefined) return null
  const integer = INTEGER_TEXT.test(digits) ? BigInt(digits) : null
  if (integer !== null && BigInt.asIntN(64, integer) === integer) return String(integer)
  const double = Number(digits)
  if (!Number.isFinite(double)) return null
  if (!Number.isInteger(double)) return String(double)
  return Math.abs(double) < 2 ** 63 ? String(BigInt(double)) : double.toExponential()
}

const NORMALISE: Readonly<Record<FieldName, (text: string, name: FieldName) => string>> = {
  offer_resource: decodeBlob,
  accepted_escrows: decodeBlob,
  demands: decodeBlob,
  max_duration_seconds: decodeDuration,
  oracle_address: (text) => text,
  settlement_options: decodeBlob,
}
