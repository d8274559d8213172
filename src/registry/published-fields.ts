import { type ListingFields, NEW_LISTING_FIELDS } from '../domain/listing.ts'
import { memberDepthProblem, sizeProblem } from '../json/limits.ts'
import { objectMembers } from '../json/members.ts'
import { type JsonValue, parseJson } from '../json/value.ts'
import { invalid } from './refusals.ts'

type Field = keyof ListingFields
type FieldName = keyof typeof FIELDS

const FIELDS = {
  offer_resource: 'offerResource',
  accepted_escrows: 'acceptedEscrows',
  demands: 'demands',
  max_duration_seconds: 'maxDurationSeconds',
  oracle_address: 'oracleAddress',
} as const satisfies Record<string, Field>

/**
 * Byte-exact JSON text of the published fields; a null one is left out, which keeps the stored value.
 * @throws EntrepotError `invalid` for a field that nests too deep, or exceeds a limit inside a string of JSON
 */
export function readFields(body: Uint8Array): Partial<ListingFields> {
  const fields: Partial<ListingFields> = {}
  for (const { name, value } of objectMembers(body)) {
    if (!isFieldName(name)) continue
    const bytes = body.subarray(value.start, value.end)
    refuse(name, memberDepthProblem(bytes))
    const text = Buffer.from(bytes).toString('utf8')
    if (text === 'null') delete fields[FIELDS[name]]
    else fields[FIELDS[name]] = NORMALISE[FIELDS[name]](text, name)
  }
  return fields
}

const isFieldName = (name: string): name is FieldName => Object.hasOwn(FIELDS, name)

/** A string of JSON is read as its content, or as empty if that is not JSON. */
function decodeBlob(text: string, name: FieldName): string {
  if (!text.startsWith('"')) return text
  const inner: string = JSON.parse(text)
  const bytes = Buffer.from(inner)
  refuse(name, memberDepthProblem(bytes))
  const value = tryParse(inner)
  if (value === undefined || value === null) return NEW_LISTING_FIELDS[FIELDS[name]]
  refuse(name, sizeProblem(bytes))
  return inner.trim()
}

function refuse(name: FieldName, problem: string | null): void {
  if (problem !== null) throw invalid([{ path: `body.${name}`, message: problem }])
}

function tryParse(text: string): JsonValue | undefined {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** `"3600"` is 3600 and `true` is 1: the deployed Registry keeps this field in an integer column. */
function decodeDuration(text: string): string {
  if (text === 'true') return '1'
  if (text === 'false') return '0'
  return /^"(0|-?[1-9]\d*)"$/.test(text) ? text.slice(1, -1) : text
}

const NORMALISE: Readonly<Record<Field, (text: string, name: FieldName) => string>> = {
  offerResource: decodeBlob,
  acceptedEscrows: decodeBlob,
  demands: decodeBlob,
  maxDurationSeconds: decodeDuration,
  oracleAddress: (text) => text,
}
