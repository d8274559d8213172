import { type ListingFields, NEW_LISTING_FIELDS } from '../domain/listing.ts'
import type { Violation } from '../errors.ts'
import { compileListingShape } from '../filter-spec/listing-shape.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../json/value.ts'
import { describeViolations } from './listing-shape-messages.ts'

export type ShapeCheck = (candidate: Candidate) => Violation[]

/** Without the oracle in a dry run, as in the deployed protocol. */
export type Candidate = {
  listing_id: string
  storefront_url: string | null
  offer_resource: JsonValue
  accepted_escrows: JsonValue
  demands: JsonValue
  max_duration_seconds: JsonValue
  oracle_address?: JsonValue
}

/**
 * Null members count as absent, at every depth.
 * @throws Error with the reason why `shape` is not a JSON Schema 2020-12
 */
export function createShapeCheck(shape: Readonly<Record<string, unknown>>): ShapeCheck {
  const validate = compileListingShape(shape)
  return (candidate) => {
    const checked = withoutNulls(candidate) as JsonObject
    return validate(withPlainNumbers(checked)) ? [] : describeViolations(validate.errors ?? [], checked)
  }
}

/** Members come from `fields`, else from the stored listing, else from a new one's defaults. */
export function candidateOf(
  listingId: string,
  storefrontUrl: string | null,
  fields: Partial<ListingFields>,
  stored: JsonObject | null,
): Candidate {
  const value = (member: keyof ListingFields, name: keyof Candidate): JsonValue => {
    const text = fields[member]
    return text === undefined ? (stored?.[name] ?? parseJson(NEW_LISTING_FIELDS[member])) : parseJson(text)
  }
  return {
    listing_id: listingId,
    storefront_url: storefrontUrl,
    offer_resource: value('offerResource', 'offer_resource'),
    accepted_escrows: value('acceptedEscrows', 'accepted_escrows'),
    demands: value('demands', 'demands'),
    max_duration_seconds: value('maxDurationSeconds', 'max_duration_seconds'),
    oracle_address: value('oracleAddress', 'oracle_address'),
  }
}

function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      member === null ? [] : [[name, withoutNulls(member)]],
    ),
  )
}

/** The validator lacks bigint; a shape's bounds are doubles anyway. */
function withPlainNumbers(value: JsonValue): JsonValue {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(withPlainNumbers)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withPlainNumbers(member)]))
}
