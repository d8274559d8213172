import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json.ts'

/** A listing as its Registry serves it, and where it was found. */
export type FoundListing = {
  listing: JsonObject
  /** The Registry's name or URL. */
  registry: string
  /** The signing address, where it is known. */
  publisher: string | null
}

/** What a storefront shows without credentials. `null` where it did not answer. */
export type StorefrontView = {
  /** `GET /api/v1/system/status` */
  status: JsonObject | null
  /** `GET /api/v1/listings/{id}` */
  listing: JsonObject | null
}

export const NOTHING_SHOWN: StorefrontView = { status: null, listing: null }

/** The members of an object; none for anything else. A storefront serves some objects as JSON text. */
export const membersOf = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {})

export const firstOf = (value: JsonValue | undefined): JsonObject =>
  Array.isArray(value) ? membersOf(value[0]) : {}

/** Text that is there; `null` for everything else. */
export const textOf = (value: JsonValue | undefined): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value : null

/** A whole number of zero or more as its digits; `null` for everything else. */
export const countOf = (value: JsonValue | undefined): string | null =>
  (typeof value === 'number' || typeof value === 'bigint') && /^\d+$/.test(String(value))
    ? String(value)
    : null

/** `8 vCPU`; `null` where the count is not known. */
export const counted = (value: JsonValue | undefined, unit: string): string | null => {
  const count = countOf(value)
  return count === null ? null : `${count} ${unit}`
}

/** What is known, with commas between; `null` when nothing is. */
export const joined = (parts: readonly (string | null)[]): string | null =>
  parts.filter((part) => part !== null).join(', ') || null
