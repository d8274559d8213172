import { parseValue, quote, refuseParameter, trim, type ValueType } from '../literals.ts'
import { type Bound, type Scalar, toScalar } from '../scalar.ts'
import type { Operand, Operation } from './operation.ts'

/** A `null` bound is open. */
type RangeTest = { op: 'range'; low: Bound | null; high: Bound | null }

/** A number within an interval. */
export const rangeOperation: Operation<RangeTest> = {
  isSetForm: (raw) => raw.startsWith('range:[') || raw.startsWith('range:('),
  pattern: '^range:[[(]',
  hasPlainForm: ({ alias_kind }) => alias_kind !== null,
  parsePlain: parseEnd,
  parseSet: parseInterval,
  passes: ({ low, high }, values) => values.some((value) => isWithin(low, high, toScalar(value))),
  match: ({ low, high }, column, spare) => column.within(low, high, spare),
  meaning: ({ alias_kind }) =>
    alias_kind === null
      ? 'is within a range such as range:[16,128] or range:[16,)'
      : `is ${alias_kind === 'lower_bound' ? 'at least' : 'at most'} the value, or within range:[16,128]`,
  syntax: ({ alias_kind }) => (alias_kind === null ? 'range:[16,128]' : '16 or range:[16,128]'),
  examples: 'range:[16,128], range:[16,)',
  control: 'range',
  isByValue: false,
}

function parseEnd(filter: Operand, text: string): RangeTest {
  const { name, alias_kind, value_type } = filter
  const end = bound(parseValue(filter, text), true)
  if (alias_kind === null) {
    const why = 'single-value URL form has no bound semantics'
    return refuseParameter(
      name,
      `range filter with no alias_kind needs raw set-form (e.g. range:[16,128]) — ${why}`,
    )
  }
  return alias_kind === 'lower_bound'
    ? rangeTest(value_type, { low: end, high: null })
    : rangeTest(value_type, { low: null, high: end })
}

/** An empty end is open. */
function parseInterval(filter: Operand, payload: string): RangeTest {
  const { name, value_type } = filter
  const isHighInclusive = payload.endsWith(']')
  if (!isHighInclusive && !payload.endsWith(')'))
    return refuseParameter(name, `range form requires '[ ]' or '( )' delimiters — got ${quote(payload)}`)
  const inside = payload.slice(1, -1)
  const comma = inside.indexOf(',')
  if (comma < 0) return refuseParameter(name, "range form needs a ',' separator — e.g. [16,128] or [16,)")
  const [low, high] = [trim(inside.slice(0, comma)), trim(inside.slice(comma + 1))]
  if (low === '' && high === '') return refuseParameter(name, 'range needs at least one bound')
  const end = (text: string, inclusive: boolean) =>
    text === '' ? null : bound(parseValue(filter, text), inclusive)
  return rangeTest(value_type, { low: end(low, payload.startsWith('[')), high: end(high, isHighInclusive) })
}

/** A NaN bound excludes nothing, so it is open. */
function bound(value: Scalar | null, inclusive: boolean): Bound | null {
  return value === null || typeof value === 'string' ? null : { value, inclusive }
}

/** No number lies between strings: such a range matches no present value. */
function rangeTest(type: ValueType, ends: Pick<RangeTest, 'low' | 'high'>): RangeTest {
  return type === 'string' || type === 'address'
    ? { op: 'range', low: { value: Infinity, inclusive: false }, high: null }
    : { op: 'range', ...ends }
}

/** JavaScript compares a bigint with a double exactly. */
function isWithin(low: Bound | null, high: Bound | null, value: Scalar | null): boolean {
  return (
    value !== null &&
    typeof value !== 'string' &&
    (low === null || (low.inclusive ? low.value <= value : low.value < value)) &&
    (high === null || (high.inclusive ? value <= high.value : value < high.value))
  )
}
