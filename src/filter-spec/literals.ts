import { EntrepotError } from '../errors.ts'
import { type Scalar, toScalar } from './scalar.ts'

export const VALUE_TYPES = ['string', 'integer', 'number', 'boolean', 'address'] as const
export type ValueType = (typeof VALUE_TYPES)[number]

type Typed = { name: string; value_type: ValueType }

/** `null` is NaN, which equals nothing. @throws EntrepotError `bad_request` that begins with the filter's name */
export function parseValue({ name, value_type: type }: Typed, text: string): Scalar | null {
  const value = readLiteral(type, text)
  return value === null ? refuseParameter(name, `expected ${type}, got ${quote(text)}`) : toScalar(value)
}

/**
 * The values of a JSON array of texts, where one of them has a comma: `["Frankfurt, DE"]`. The deployed protocol has no such
 * set, and would read its pieces. `null` for any other text.
 */
export function readJsonSet(payload: string): readonly string[] | null {
  if (!payload.startsWith('["') || !payload.includes(',')) return null
  try {
    const values: unknown = JSON.parse(payload)
    const isSet = Array.isArray(values) && values.every((one) => typeof one === 'string')
    return isSet && values.some((one) => one.includes(',')) ? values : null
  } catch {
    return null
  }
}

/**
 * The set `in` or `not_in` of these values, of which blanks around them are not kept: a JSON array where one has a comma, and only there, since
 * `readJsonSet` reads any other array as pieces.
 */
export function writeSet(form: string, values: readonly string[]): string {
  const isPlain = values.every((value) => !value.includes(','))
  return `${form}:${isPlain ? `[${values.join(',')}]` : JSON.stringify(values)}`
}

/** The values of `[a,b]`, trimmed, or of a JSON array. Empty ones count, but blanks alone are an empty list. @throws as `parseValue` */
export function parseValues(filter: Typed, payload: string): ReadonlySet<Scalar> {
  if (!payload.endsWith(']')) {
    return refuseParameter(filter.name, `set form must be enclosed in '[ ]' — got ${quote(payload)}`)
  }
  const inside = trim(payload.slice(1, -1))
  const items = readJsonSet(payload) ?? (inside === '' ? [] : inside.split(',').map(trim))
  return valueSet(items.map((item) => parseValue(filter, item)))
}

export function valueSet(values: readonly (Scalar | null)[]): ReadonlySet<Scalar> {
  return new Set(values.filter((value) => value !== null))
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

export const trim = (text: string): string => trimmed(text, SPACE)

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
