import type { Filter, OnMissing } from './filter.ts'

/**
 * A value that filters compare. A boolean is 0 or 1 (`1 == True` in the deployed protocol). A number whose value is
 * an integer outside the safe range is a bigint, whether it was written `1e30` or with all its digits, so that equal
 * values are the same `Map` key and comparisons are exact. Never NaN.
 */
export type Scalar = string | number | bigint

/** One end of an interval. */
export type Bound = { value: number | bigint; inclusive: boolean }

/** What is asked of a present value. A `null` bound is open. */
export type Test =
  | { op: 'in' | 'not_in'; values: ReadonlySet<Scalar> }
  | { op: 'range'; low: Bound | null; high: Bound | null }
  | { op: 'exists'; wanted: boolean }

/** One condition of a query: a filter, what is asked of it, and what happens where the field is missing. */
export type Criterion = { filter: Filter; onMissing: OnMissing; test: Test }
