import type { JsonObject, JsonValue } from '../json/value.ts'

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
