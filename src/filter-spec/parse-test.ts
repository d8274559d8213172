import type { Bound, Scalar, Test } from './criteria.ts'
import type { FilterDefinition, ValueType } from './filter.ts'
import { readLiteral } from './literal.ts'
import { quote, refuse } from './refusal.ts'
import { toScalar } from './scalar.ts'
import { readInterval, readItems, readSetForm, type SetForm } from './set-form.ts'

/** @throws EntrepotError `bad_request` that begins with the filter's name */
export function parseTest(filter: FilterDefinition, raw: string): Test {
  const form = readSetForm(raw)
  return form === null ? plainTest(filter, raw) : setTest(filter, form)
}

function plainTest(filter: FilterDefinition, raw: string): Test {
  const { name, op, alias_kind: alias } = filter
  if (op === 'exists' || op === 'not_in') {
    const example = `${op}:[...] / exists:true`
    const why = 'single-value URL form is ambiguous'
    return refuse(name, `${op} filter must be invoked via set-form (e.g. ${example}) — ${why}`)
  }
  const value = parseValue(filter, raw)
  if (op === 'in') return { op, values: valueSet([value]) }
  if (alias === null) {
    const why = 'single-value URL form has no bound semantics'
    return refuse(name, `range filter with no alias_kind needs raw set-form (e.g. range:[16,128]) — ${why}`)
  }
  const end = bound(value, true)
  return alias === 'lower_bound'
    ? rangeTest(filter.value_type, end, null)
    : rangeTest(filter.value_type, null, end)
}

function setTest(filter: FilterDefinition, form: SetForm): Test {
  if (form.op !== filter.op) {
    return refuse(filter.name, `filter declares op='${filter.op}', URL uses op='${form.op}'`)
  }
  switch (form.op) {
    case 'exists':
      return form
    case 'range':
      return intervalTest(filter, form.payload)
    default: {
      const items = readItems(filter.name, form.payload)
      return { op: form.op, values: valueSet(items.map((item) => parseValue(filter, item))) }
    }
  }
}

function intervalTest(filter: FilterDefinition, payload: string): Test {
  const { low, high, lowInclusive, highInclusive } = readInterval(filter.name, payload)
  const end = (text: string, inclusive: boolean) =>
    text === '' ? null : bound(parseValue(filter, text), inclusive)
  return rangeTest(filter.value_type, end(low, lowInclusive), end(high, highInclusive))
}

/** `null` is NaN, which equals nothing. */
function parseValue({ name, value_type: type }: FilterDefinition, text: string): Scalar | null {
  const value = readLiteral(type, text)
  return value === null ? refuse(name, `expected ${type}, got ${quote(text)}`) : toScalar(value)
}

const valueSet = (values: readonly (Scalar | null)[]): ReadonlySet<Scalar> =>
  new Set(values.filter((value) => value !== null))

/** A NaN bound excludes nothing, so it is open. */
const bound = (value: Scalar | null, inclusive: boolean): Bound | null =>
  value === null || typeof value === 'string' ? null : { value, inclusive }

/** No number lies between strings: such a range matches no present value. */
const rangeTest = (type: ValueType, low: Bound | null, high: Bound | null): Test =>
  type === 'string' || type === 'address' ? { op: 'in', values: new Set() } : { op: 'range', low, high }
