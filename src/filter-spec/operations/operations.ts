import { refuseParameter, trim } from '../literals.ts'
import { type DerivedTest, derivedOperation } from './derived.ts'
import { existsOperation } from './exists.ts'
import { inOperation } from './in.ts'
import { notInOperation } from './not-in.ts'
import type { Operand, Operation, ValueTest } from './operation.ts'
import { rangeOperation } from './range.ts'

const ROWS = { in: inOperation, not_in: notInOperation, range: rangeOperation, exists: existsOperation }

export type Op = keyof typeof ROWS

type DeclaredTest = ReturnType<(typeof ROWS)[Op]['parseSet']>
/** Tests a present value. */
export type FilterTest = DeclaredTest | DerivedTest

export const OPERATIONS: Readonly<Record<Op, Operation<DeclaredTest>>> = ROWS

const TESTS: Readonly<Record<FilterTest['op'], ValueTest<FilterTest>>> = {
  ...ROWS,
  derived: derivedOperation,
}

/** How the tests of that kind are applied. */
export const testOf = ({ op }: FilterTest): ValueTest<FilterTest> => TESTS[op]

export const OPS = Object.keys(ROWS) as Op[]

export function isOp(text: string | null): text is Op {
  return text !== null && Object.hasOwn(OPERATIONS, text)
}

/** The operation whose set form the text has; `null` for a plain value. */
export function setFormOf(raw: string): Op | null {
  return OPS.find((op) => OPERATIONS[op].isSetForm(raw)) ?? null
}

/** @throws EntrepotError `bad_request` that begins with the filter's name */
export function parseTest(filter: Operand & { op: Op }, raw: string): DeclaredTest {
  const op = setFormOf(raw)
  if (op === null) return OPERATIONS[filter.op].parsePlain(filter, raw)
  if (op !== filter.op)
    return refuseParameter(filter.name, `filter declares op='${filter.op}', URL uses op='${op}'`)
  return OPERATIONS[op].parseSet(filter, trim(raw.slice(op.length + 1)))
}
