import { type Scalar, toScalar } from '../scalar.ts'
import type { ValueTest } from './operation.ts'

/** A test of derived values, which no text of a parameter writes. */
export type DerivedTest = { op: 'derived'; accepts: (value: Scalar) => boolean }

export const derivedTest = (accepts: DerivedTest['accepts']): DerivedTest => ({ op: 'derived', accepts })

export const derivedOperation: ValueTest<DerivedTest> = {
  passes: ({ accepts }, values) =>
    values.some((value) => {
      const scalar = toScalar(value)
      return scalar !== null && accepts(scalar)
    }),
  match: ({ accepts }, column, spare) => column.accepted(accepts, spare),
}
