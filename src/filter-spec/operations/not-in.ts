import { parseValues } from '../literals.ts'
import type { Scalar } from '../scalar.ts'
import { isIn } from './in.ts'
import { type Operation, refusePlainForm } from './operation.ts'

type NotInTest = { op: 'not_in'; values: ReadonlySet<Scalar> }

/** None of the values. */
export const notInOperation: Operation<NotInTest> = {
  isSetForm: (raw) => raw.startsWith('not_in:['),
  pattern: '^not_in:\\[',
  hasPlainForm: () => false,
  parsePlain: (filter) => refusePlainForm(filter, 'not_in'),
  parseSet: (filter, payload) => ({ op: 'not_in', values: parseValues(filter, payload) }),
  passes: (test, values) => !values.some((value) => isIn(test.values, value)),
  match: ({ values }, column, spare) => {
    const { present } = column.data
    const excluded = column.having(values, spare)
    for (let n = 0; n < spare.length; n++) spare[n] = present[n]! & ~excluded[n]!
    return spare
  },
  meaning: () => 'is not one of not_in:[a,b]',
  syntax: () => 'not_in:[A,B]',
  examples: 'not_in:[a,b]',
  control: 'exclusions',
  isByValue: false,
}
