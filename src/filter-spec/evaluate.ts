import type { JsonValue } from '../domain/json.ts'
import type { Bound, Criterion, Scalar, Test } from './criteria.ts'
import { resolvePath } from './path.ts'
import { toScalar } from './scalar.ts'

/** Whether a listing as served passes every condition. */
export const matchesAll = (criteria: readonly Criterion[], document: JsonValue): boolean =>
  criteria.every((criterion) => matches(criterion, document))

/** Whether a document passes one condition; where its field is missing, `onMissing` alone decides. */
export const matches = (criterion: Criterion, document: JsonValue): boolean =>
  failureOf(criterion, document) === null

/** Why a document fails a condition: what its field says, or that there is none. `null` where it passes. */
export const failureOf = (criterion: Criterion, document: JsonValue): 'value' | 'missing' | null => {
  const values = resolvePath(criterion.filter.compiled, document)
  if (values.length === 0) return criterion.onMissing === 'pass' ? null : 'missing'
  return passes(criterion.test, values) ? null : 'value'
}

/**
 * Whether a field that is present passes (docs/protocol.md#63-matching). `values` is what its path found, at least one,
 * no nulls. A value of another type is not equal and not in range, and never an error.
 */
export const passes = (test: Test, values: readonly JsonValue[]): boolean => {
  switch (test.op) {
    case 'in':
      return values.some((value) => isIn(test.values, value))
    case 'not_in':
      return !values.some((value) => isIn(test.values, value))
    case 'range':
      return values.some((value) => isWithin(test.low, test.high, toScalar(value)))
    case 'exists':
      return test.wanted
  }
}

/** Whether a scalar is a number between two bounds. Comparing a bigint with a double is exact in JavaScript. */
const isWithin = (low: Bound | null, high: Bound | null, value: Scalar | null): boolean =>
  value !== null &&
  typeof value !== 'string' &&
  (low === null || (low.inclusive ? low.value <= value : low.value < value)) &&
  (high === null || (high.inclusive ? value <= high.value : value < high.value))

const isIn = (wanted: ReadonlySet<Scalar>, value: JsonValue): boolean => {
  const scalar = toScalar(value)
  return scalar !== null && wanted.has(scalar)
}
