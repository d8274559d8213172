import type { JsonValue } from '../json/value.ts'
import type { Filter, OnMissing } from './filter.ts'

/** Booleans are 0 or 1, unsafe integers bigints (even `1e30`): equal values are one `Map` key. Never NaN. */
export type Scalar = string | number | bigint

export type Bound = { value: number | bigint; inclusive: boolean }

/** Tests a present value. A `null` bound is open. */
export type FilterTest =
  | { op: 'in' | 'not_in'; values: ReadonlySet<Scalar> }
  | { op: 'range'; low: Bound | null; high: Bound | null }
  | { op: 'exists'; wanted: boolean }

export type Criterion = { filter: Filter; onMissing: OnMissing; test: FilterTest }

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
