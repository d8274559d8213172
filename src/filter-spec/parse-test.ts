import { EntrepotError } from '../errors.ts'
import { type Bound, type FilterTest, type Scalar, toScalar } from './criteria.ts'
import type { FilterDefinition, ValueType } from './filter.ts'

/** @throws EntrepotError `bad_request` that begins with the filter's name */
export function parseTest(filter: FilterDefinition, raw: string): FilterTest {
  const form = readSetForm(raw)
  return form === null ? plainTest(filter, raw) : setTest(filter, form)
}

function plainTest(filter: FilterDefinition, raw: string): FilterTest {
  const { name, op, alias_kind: alias } = filter
  if (op === 'exists' || op === 'not_in') {
    const example = `${op}:[...] / exists:true`
    const why = 'single-value URL form is ambiguous'
    return refuseParameter(name, `${op} filter must be invoked via set-form (e.g. ${example}) — ${why}`)
  }
  const value = parseValue(filter, raw)
  if (op === 'in') return { op, values: valueSet([value]) }
  if (alias === null) {
    const why = 'single-value URL form has no bound semantics'
    return refuseParameter(
      name,
      `range filter with no alias_kind needs raw set-form (e.g. range:[16,128]) — ${why}`,
    )
  }
  const end = bound(value, true)
  return alias === 'lower_bound'
    ? rangeTest(filter.value_type, end, null)
    : rangeTest(filter.value_type, null, end)
}

function setTest(filter: FilterDefinition, form: SetForm): FilterTest {
  if (form.op !== filter.op) {
    return refuseParameter(filter.name, `filter declares op='${filter.op}', URL uses op='${form.op}'`)
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

/** An empty end is open. */
function intervalTest(filter: FilterDefinition, payload: string): FilterTest {
  const { name, value_type: type } = filter
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
  return rangeTest(type, end(low, payload.startsWith('[')), end(high, isHighInclusive))
}

/** `null` is NaN, which equals nothing. */
function parseValue({ name, value_type: type }: FilterDefinition, text: string): Scalar | null {
  const value = readLiteral(type, text)
  return value === null ? refuseParameter(name, `expected ${type}, got ${quote(text)}`) : toScalar(value)
}

const valueSet = (values: readonly (Scalar | null)[]): ReadonlySet<Scalar> =>
  new Set(values.filter((value) => value !== null))

/** A NaN bound excludes nothing, so it is open. */
const bound = (value: Scalar | null, inclusive: boolean): Bound | null =>
  value === null || typeof value === 'string' ? null : { value, inclusive }

/** No number lies between strings: such a range matches no present value. */
const rangeTest = (type: ValueType, low: Bound | null, high: Bound | null): FilterTest =>
  type === 'string' || type === 'address' ? { op: 'in', values: new Set() } : { op: 'range', low, high }

/** docs/protocol.md#61-plain-form-and-set-form. A payload begins with its bracket. */
type SetForm = { op: 'in' | 'not_in' | 'range'; payload: string } | { op: 'exists'; wanted: boolean }

/** `null` for a plain value: any that does not begin exactly as a set form. */
function readSetForm(raw: string): SetForm | null {
  for (const [start, op] of STARTS) {
    if (raw.startsWith(start)) return { op, payload: trim(raw.slice(op.length + 1)) }
  }
  if (!raw.startsWith(EXISTS)) return null
  const wanted = readBoolean(raw.slice(EXISTS.length))
  return wanted === null ? null : { op: 'exists', wanted }
}

const EXISTS = 'exists:'
const STARTS = [
  ['not_in:[', 'not_in'],
  ['in:[', 'in'],
  ['range:[', 'range'],
  ['range:(', 'range'],
] as const

/** Trimmed; keeps empty items, but blanks alone are an empty list. @throws EntrepotError `bad_request` */
function readItems(parameter: string, payload: string): string[] {
  if (!payload.endsWith(']')) {
    return refuseParameter(parameter, `set form must be enclosed in '[ ]' — got ${quote(payload)}`)
  }
  const inside = trim(payload.slice(1, -1))
  return inside === '' ? [] : inside.split(',').map(trim)
}

/** The deployed protocol's parser refuses more. */
const MAX_INTEGER_DIGITS = 4_300

/** docs/protocol.md#62-value-types. Booleans are 0 or 1, numbers may be NaN or infinite; `null`: invalid. */
function readLiteral(type: ValueType, text: string): string | number | bigint | null {
  switch (type) {
    case 'string':
    case 'address':
      return text
    case 'integer':
      return readInteger(text)
    case 'number':
      return readNumber(text)
    case 'boolean': {
      const value = readBoolean(text)
      return value === null ? null : Number(value)
    }
  }
}

/** One of six words in any case, without blanks. */
export function readBoolean(text: string): boolean | null {
  const word = text.toLowerCase()
  if (word === 'true' || word === '1' || word === 'yes') return true
  if (word === 'false' || word === '0' || word === 'no') return false
  return null
}

/** Python's white space: unlike JavaScript's with U+001C to U+001F and U+0085, without U+FEFF. */
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/

const trim = (text: string): string => trimmed(text, SPACE)

const INTEGER = /^[+-]?\d+(?:_\d+)*$/
const NUMBER = /^[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?$/i
const NAMED_NUMBER = /^([+-]?)(?:(inf(?:inity)?)|nan)$/i

function readInteger(text: string): number | bigint | null {
  const plain = plainDigits(text)
  if (!INTEGER.test(plain)) return null
  const literal = plain.replace(/[_+]/g, '')
  if (literal.replace('-', '').length > MAX_INTEGER_DIGITS) return null
  const value = literal.startsWith('-') ? -BigInt(literal.slice(1)) : BigInt(literal)
  const double = Number(value)
  return Number.isSafeInteger(double) ? double : value
}

function readNumber(text: string): number | null {
  const plain = plainDigits(text)
  if (NUMBER.test(plain)) return Number(plain.replaceAll('_', ''))
  const named = NAMED_NUMBER.exec(plain)
  if (named === null) return null
  return named[2] === undefined ? Number.NaN : named[1] === '-' ? -Infinity : Infinity
}

/** Trims as Python does for numbers (keeps U+001C to U+001F) and turns any script's digits into 0 to 9. */
const plainDigits = (text: string): string =>
  trimmed(text, NUMBER_SPACE).replace(OTHER_DIGIT, (digit) => String(digitValue(digit)))

const NUMBER_SPACE = /[\t-\r\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/
const OTHER_DIGIT = /[^\P{Nd}0-9]/gu
const DIGIT = /^\p{Nd}$/u

/** Unicode keeps decimal digits in runs of ten, from 0 to 9. */
function digitValue(digit: string): number {
  const code = digit.codePointAt(0)!
  let start = code
  while (DIGIT.test(String.fromCodePoint(start - 1))) start--
  return (code - start) % 10
}

function trimmed(text: string, space: RegExp): string {
  let start = 0
  let end = text.length
  while (start < end && space.test(text[start]!)) start++
  while (end > start && space.test(text[end - 1]!)) end--
  return text.slice(start, end)
}

const MAX_QUOTED_CHARACTERS = 200

/** In the deployed protocol's words: docs/protocol.md#6-filters. @throws EntrepotError `bad_request` */
export function refuseParameter(parameter: string, sentence: string): never {
  throw new EntrepotError('bad_request', `${parameter}: ${sentence}`)
}

export const quote = (text: string): string =>
  `'${text.length > MAX_QUOTED_CHARACTERS ? `${text.slice(0, MAX_QUOTED_CHARACTERS)}…` : text}'`

const MAX_NAMED = 40

export const listNames = (names: readonly string[]): string =>
  names.slice(0, MAX_NAMED).join(', ') + (names.length > MAX_NAMED ? ', …' : '')
