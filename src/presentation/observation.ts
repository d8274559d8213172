import { isJsonObject, type JsonObject, type JsonValue } from '../json/value.ts'

export type ObservedListing = {
  listing: JsonObject
  /** Name or URL. */
  registry: string
  /** The signing address; `null` where unknown. */
  publisher: string | null
}

/** Public answers of a storefront; `null` where it did not answer. */
export type StorefrontView = {
  /** `GET /api/v1/system/status` */
  status: JsonObject | null
  /** `GET /api/v1/listings/{id}` */
  listing: JsonObject | null
}

export const NO_STOREFRONT_ANSWER: StorefrontView = { status: null, listing: null }

/** Empty for anything but an object: storefronts serve some objects as JSON text. */
export const objectOrEmpty = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {})

export const firstObject = (value: JsonValue | undefined): JsonObject =>
  Array.isArray(value) ? objectOrEmpty(value[0]) : {}

export const nonBlank = (value: JsonValue | undefined): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value : null

/** The digits of a whole number from 0; `null` for anything else. */
export const wholeNumber = (value: JsonValue | undefined): string | null =>
  (typeof value === 'number' || typeof value === 'bigint') && /^\d+$/.test(String(value))
    ? String(value)
    : null

export function withUnit(value: JsonValue | undefined, unit: string): string | null {
  const count = wholeNumber(value)
  return count === null ? null : `${count} ${unit}`
}

export const joinKnown = (parts: readonly (string | null)[]): string | null =>
  parts.filter((part) => part !== null).join(', ') || null
