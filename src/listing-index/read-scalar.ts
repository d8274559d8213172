import { type Scalar, toScalar } from '../filter-spec/criteria.ts'
import { parseJson } from '../json/value.ts'

const ZERO = 0x30
const MINUS = 0x2d
const POINT = 0x2e
const SMALL_N = 0x6e
const SMALL_T = 0x74
const SMALL_F = 0x66
/** Below 2^53, where powers of ten are exact too: one division rounds once. */
const MAX_EXACT_DIGITS = 15
const POWERS_OF_TEN = Array.from({ length: MAX_EXACT_DIGITS + 1 }, (_, n) => 10 ** n)

/** Numbers, `true`, `false`, `null`; short numbers skip the parser. @throws SyntaxError for other text */
export function readScalar(bytes: Buffer, start: number, end: number): Scalar | null {
  const first = bytes[start]
  if (first === SMALL_N) return null
  if (first === SMALL_T) return 1
  if (first === SMALL_F) return 0
  const isNegative = first === MINUS
  let digits = 0
  let fractionDigits = -1
  let value = 0
  for (let at = isNegative ? start + 1 : start; at < end; at++) {
    const byte = bytes[at]!
    const digit = byte - ZERO
    if (digit >= 0 && digit <= 9) {
      if (++digits > MAX_EXACT_DIGITS) return parsedScalar(bytes, start, end)
      value = value * 10 + digit
      if (fractionDigits >= 0) fractionDigits++
    } else if (byte === POINT && fractionDigits < 0) fractionDigits = 0
    else return parsedScalar(bytes, start, end)
  }
  if (digits === 0) return parsedScalar(bytes, start, end)
  if (fractionDigits > 0) value /= POWERS_OF_TEN[fractionDigits]!
  return isNegative ? 0 - value : value
}

const parsedScalar = (bytes: Buffer, start: number, end: number): Scalar | null =>
  toScalar(parseJson(bytes.toString('latin1', start, end)))
