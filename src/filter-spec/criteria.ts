import type { Filter, OnMissing } from './filter.ts'

/** Booleans are 0 or 1, unsafe integers bigints (even `1e30`): equal values are one `Map` key. Never NaN. */
export type Scalar = string | number | bigint

export type Bound = { value: number | bigint; inclusive: boolean }

/** Tests a present value. A `null` bound is open. */
export type Test =
  | { op: 'in' | 'not_in'; values: ReadonlySet<Scalar> }
  | { op: 'range'; low: Bound | null; high: Bound | null }
  | { op: 'exists'; wanted: boolean }

export type Criterion = { filter: Filter; onMissing: OnMissing; test: Test }
