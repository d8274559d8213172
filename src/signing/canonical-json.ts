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
  const names = Object.keys(value).sort()
  return `{${names.map((name) => `${canonicalText(name)}:${canonicalJson(value[name]!)}`).join(',')}}`
}

/** SHA-256 of the canonical form in lower-case hex; of nothing for an empty body. @throws SyntaxError as above */
export function bodyHash(body: Buffer): string {
  if (body.length === 0) return hash('sha256', '')
  if (nestingDepth(body) > MAX_DEPTH) throw new SyntaxError(`it is nested deeper than ${MAX_DEPTH}`)
  return hash('sha256', canonicalJson(parseJson(body.toString())))
}

function canonicalText(text: string): string {
  if (!text.isWellFormed()) throw new SyntaxError('a text holds half a surrogate pair')
  return JSON.stringify(text)
}

function canonicalNumber(value: number): string {
  if (!Number.isFinite(value)) throw new SyntaxError('a number is infinite')
  return JSON.stringify(value)
}
