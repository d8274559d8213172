import { hash } from 'node:crypto'
import { nestingDepth } from '../json/limits.ts'
import { isJsonObject, type JsonValue, parseJson } from '../json/value.ts'

const MAX_DEPTH = 500

/**
 * The canonical form of RFC 8785. @throws SyntaxError for what has none: an integer literal beyond ±(2^53 − 1), an infinite
 * number, half a surrogate pair
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === 'string') return canonicalText(value)
  if (typeof value === 'bigint') throw new SyntaxError(`${value} is beyond the integers of JSON`)
  if (typeof value === 'number') return canonicalNumber(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isJsonObject(value)) return String(value)
  // JSON has no member that is undefined.
  const names = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .sort()
  return `{${names.map((name) => `${canonicalText(name)}:${canonicalJson(value[name]!)}`).join(',')}}`
}

/** SHA-256 of the canonical form in lower-case hex; of nothing for an empty body. @throws SyntaxError as above */
export function bodyHash(body: Buffer): string {
  if (body.length === 0) return hash('sha256', '')
  if (nestingDepth(body) > MAX_DEPTH) throw new SyntaxError(`it is nested deeper than ${MAX_DEPTH}`)
  return valueHash(parseJson(body.toString()))
}

/** The same of a value. @throws SyntaxError as above, but for its depth */
export const valueHash = (value: JsonValue): string => hash('sha256', canonicalJson(value))

/** Whether every reader hashes a JSON text of it alike: whole numbers beyond ±(2^53 − 1) are refused as literals. */
export function isSignable(value: JsonValue): boolean {
  if (typeof value === 'number')
    return !Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= MIN_EXPONENT
  if (Array.isArray(value)) return value.every(isSignable)
  if (isJsonObject(value))
    return Object.entries(value).every(([name, member]) => name.isWellFormed() && isSignable(member!))
  return typeof value === 'string' ? value.isWellFormed() : typeof value !== 'bigint'
}

/** Smaller numbers are written as digits. */
const MIN_EXPONENT = 1e21

/** A number of 16 digits, an exponent, or an escaped half of a surrogate pair. */
const DOUBTFUL = /\d{16}|\d[eE]|\\u[dD][89a-fA-F]/

/** The same of a JSON text, which is parsed only where it looks doubtful. */
export function isSignableJson(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  if (!DOUBTFUL.test(text)) return true
  try {
    return isSignable(parseJson(Buffer.from(bytes).toString()))
  } catch {
    return false
  }
}

function canonicalText(text: string): string {
  if (!text.isWellFormed()) throw new SyntaxError('a text holds half a surrogate pair')
  return JSON.stringify(text)
}

function canonicalNumber(value: number): string {
  if (!Number.isFinite(value)) throw new SyntaxError('a number is infinite')
  return JSON.stringify(value)
}
