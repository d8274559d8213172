import type { JsonValue } from '../json/value.ts'
import type { Bound, Criterion, Scalar, Test } from './criteria.ts'
import { resolvePath } from './path.ts'
import { toScalar } from './scalar.ts'

export const matchesAll = (criteria: readonly Criterion[], document: JsonValue): boolean =>
  criteria.every((criterion) => matches(criterion, document))

/** Where the field is missing, only `onMissing` decides. */
export const matches = (criterion: Criterion, document: JsonValue): boolean =>
  failureOf(criterion, document) === null

/** `null` where the document passes. */
export function failureOf(criterion: Criterion, document: JsonValue): 'value' | 'missing' | null {
  const values = resolvePath(criterion.filter.compiled, document)
  if (values.length === 0) return criterion.onMissing === 'pass' ? null : 'missing'
  return passes(criterion.test, values) ? null : 'value'
}

/** docs/protocol.md#63-matching. `values`: one or more, no nulls. Another type never matches. */
export function passes(test: Test, values: readonly JsonValue[]): boolean {
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

/** JavaScript compares a bigint with a double exactly. */
const isWithin = (low: Bound | null, high: Bound | null, value: Scalar | null): boolean =>
  value !== null &&
  typeof value !== 'string' &&
  (low === null || (low.inclusive ? low.value <= value : low.value < value)) &&
  (high === null || (high.inclusive ? value <= high.value : value < high.value))

function isIn(wanted: ReadonlySet<Scalar>, value: JsonValue): boolean {
  const scalar = toScalar(value)
  return scalar !== null && wanted.has(scalar)
}
