import type { JsonValue } from '../json/value.ts'

/** Booleans are 0 or 1, unsafe integers bigints (even `1e30`): equal values are one `Map` key. Never NaN. */
export type Scalar = string | number | bigint

/** One end of an interval. */
export type Bound = { value: number | bigint; inclusive: boolean }

/** `null` for arrays, objects and null, which equal nothing. */
export function toScalar(value: JsonValue): Scalar | null {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
      return numberScalar(value)
    case 'bigint':
      return isSafe(value) ? Number(value) : value
    case 'boolean':
      return value ? 1 : 0
    default:
      return null
  }
}

/** `null` for NaN. Adding 0 turns -0 into 0. */
const numberScalar = (value: number): Scalar | null =>
  Number.isNaN(value)
    ? null
    : Number.isInteger(value) && !Number.isSafeInteger(value)
      ? BigInt(value)
      : value + 0

const isSafe = (value: bigint): boolean =>
  value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER

/** How a facet writes a value: as a filter of that path takes it. */
export function facetText({ value_type }: { value_type: string }, value: Scalar): string {
  if (value_type === 'boolean' && (value === 0 || value === 1)) return value === 1 ? 'true' : 'false'
  return String(value)
}
