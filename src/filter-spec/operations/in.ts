import type { JsonValue } from '../../json/value.ts'
import { parseValue, parseValues, valueSet } from '../literals.ts'
import { type Scalar, toScalar } from '../scalar.ts'
import type { Operation } from './operation.ts'

type InTest = { op: 'in'; values: ReadonlySet<Scalar> }

/** One of the values. */
export const inOperation: Operation<InTest> = {
  isSetForm: (raw) => raw.startsWith('in:['),
  pattern: '^in:\\[',
  hasPlainForm: () => true,
  parsePlain: (filter, text) => ({ op: 'in', values: valueSet([parseValue(filter, text)]) }),
  parseSet: (filter, payload) => ({ op: 'in', values: parseValues(filter, payload) }),
  passes: (test, values) => values.some((value) => isIn(test.values, value)),
  match: ({ values }, column, spare) => column.having(values, spare),
  meaning: () => 'is the value, or one of in:[a,b]',
  syntax: ({ value_type }) => (value_type === 'boolean' ? 'true or false' : 'A or in:[A,B]'),
  examples: 'in:[a,b]',
  control: 'values',
  isByValue: true,
}

export function isIn(values: ReadonlySet<Scalar>, value: JsonValue): boolean {
  const scalar = toScalar(value)
  return scalar !== null && values.has(scalar)
}
