import type { Judgement } from '../filter-spec/filter.ts'
import { refuseParameter, trim } from '../filter-spec/literals.ts'
import { existsOperation } from '../filter-spec/operations/exists.ts'
import { inOperation } from '../filter-spec/operations/in.ts'
import { notInOperation } from '../filter-spec/operations/not-in.ts'
import { setFormOf } from '../filter-spec/operations/operations.ts'
import { rangeOperation } from '../filter-spec/operations/range.ts'
import type { Scalar } from '../filter-spec/scalar.ts'
import { isOpen, numbersOf } from './open-value.ts'

type TextField = {
  name: string
  /** The value that a reader means. @throws EntrepotError `bad_request` */
  read: (text: string) => string
  /** Whether an open value may be that. */
  mayBe: (open: string, value: string) => boolean
}

/** `A`, `A,B`, `in:[A,B]`, `not_in:[A,B]` or `exists:true`. @throws EntrepotError `bad_request` */
export function parseTexts(raw: string, field: TextField): Judgement {
  const operand = { name: field.name, value_type: 'string', alias_kind: null } as const
  const form = setFormOf(raw)
  const payload = form === null ? '' : trim(raw.slice(form.length + 1))
  switch (form) {
    case null:
      return setOf('in', [raw], field)
    case 'in':
      return setOf(form, inOperation.parseSet(operand, payload).values, field)
    case 'not_in':
      return setOf(form, notInOperation.parseSet(operand, payload).values, field)
    case 'exists': {
      const { wanted } = existsOperation.parseSet(operand, payload)
      return { judge: (value) => isOpen(value) !== wanted, matchesMissing: !wanted }
    }
    case 'range':
      return refuseParameter(field.name, 'expected A, in:[A,B], not_in:[A,B] or exists:true')
  }
}

/** A name with a comma is one value: `Congo, Republic`. */
function valuesIn(raw: string, { read }: TextField): readonly string[] {
  if (!raw.includes(',')) return [raw]
  try {
    return [read(raw)]
  } catch {
    return raw.split(',').map(trim)
  }
}

function setOf(form: 'in' | 'not_in', values: Iterable<Scalar>, field: TextField): Judgement {
  const { read, mayBe } = field
  const meant = new Set([...values].flatMap((value) => valuesIn(String(value), field)).map(read))
  const isIn = (value: Scalar): boolean | null => {
    if (!isOpen(value)) return meant.has(String(value))
    return meant.values().some((one) => mayBe(String(value), one)) ? null : false
  }
  const judge = form === 'in' ? isIn : (value: Scalar) => inverse(isIn(value))
  return { judge, matchesMissing: false, meant: { form, values: [...meant] } }
}

const inverse = (isIn: boolean | null): boolean | null => (isIn === null ? null : !isIn)

/** `80` as the least, or `range:[40,80)`. What may be one of several numbers passes where all of them do. */
export function parseNumbers(raw: string, name: string): Judgement {
  const operand = { name, value_type: 'number', alias_kind: 'lower_bound' } as const
  const form = setFormOf(raw)
  if (form !== null && form !== 'range') return refuseParameter(name, 'expected a number or range:[40,80)')
  const test =
    form === null
      ? rangeOperation.parsePlain(operand, raw)
      : rangeOperation.parseSet(operand, trim(raw.slice(form.length + 1)))
  const judge = (value: Scalar): boolean | null => {
    const numbers = numbersOf(value)
    if (numbers === null) return null
    const passing = numbers.filter((number) => rangeOperation.passes(test, [number]))
    return passing.length === numbers.length ? true : passing.length === 0 ? false : null
  }
  return { judge, matchesMissing: false }
}
