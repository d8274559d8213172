/** Keeps integers outside the safe range, as bigints. */
export type JsonValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | JsonValue[]
  | { [name: string]: JsonValue }
export type JsonObject = { [name: string]: JsonValue }

/** Where a number of 16 digits or more may begin. A match inside a string costs time only. */
const LONG_INTEGER = /[\s:,[-]\d{16}/
/** Separate, because an alternative in the expression above makes it three times as slow. */
const LONG_INTEGER_ALONE = /^\d{16}/
const INTEGER = /^-?\d+$/

/** Keeps integers exact. Only long numbers take the reviver, ten times slower. @throws SyntaxError */
export const parseJson = (text: string): JsonValue =>
  mayHoldLongInteger(text) ? parseWithSource(text, keepInteger) : JSON.parse(text)

const mayHoldLongInteger = (text: string): boolean => LONG_INTEGER.test(text) || LONG_INTEGER_ALONE.test(text)

/** TypeScript's library lacks the reviver's third argument and `rawJSON` (ECMAScript 2026, JSON.parse source text). */
const parseWithSource = JSON.parse as (
  text: string,
  reviver: (name: string, value: unknown, context: { source: string }) => unknown,
) => JsonValue

/** A number that `JSON.stringify` writes with the digits of `text`. */
export const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown }

/** JSON text of a value; bigints keep their digits. */
export const formatJson = (value: unknown, indent?: number): string =>
  JSON.stringify(
    value,
    (_name, member) => (typeof member === 'bigint' ? rawJSON(String(member)) : member),
    indent,
  )

const keepInteger = (_name: string, value: unknown, context: { source: string }): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && INTEGER.test(context.source)
    ? BigInt(context.source)
    : value

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Empty for anything but an object. */
export const objectOrEmpty = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {})

/** Empty for a text that is no JSON object. */
export function parseObject(text: string): JsonObject {
  try {
    return objectOrEmpty(parseJson(text))
  } catch {
    return {}
  }
}

/** Equality as JSON: members in any order, numbers by value (`99` is `99.0`). */
export function sameJson(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (one === other) return true
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((v, n) => sameJson(v, other[n]))
  }
  if (!isJsonObject(one)) return isNumeric(one) && isNumeric(other) && !(one < other || one > other)
  if (!isJsonObject(other)) return false
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && sameJson(one[name], other[name]))
  )
}

const isNumeric = (value: unknown): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint'

/** `null` where the path leads nowhere. */
export function at(value: JsonValue | undefined, ...path: readonly (string | number)[]): JsonValue {
  let node: JsonValue = value ?? null
  for (const step of path) {
    if (typeof step === 'number') node = Array.isArray(node) ? (node[step] ?? null) : null
    else node = isJsonObject(node) && Object.hasOwn(node, step) ? (node[step] ?? null) : null
  }
  return node
}

export function textAt(value: JsonValue | undefined, ...path: readonly (string | number)[]): string | null {
  const node = at(value, ...path)
  return typeof node === 'string' ||
    typeof node === 'number' ||
    typeof node === 'bigint' ||
    typeof node === 'boolean'
    ? String(node)
    : null
}

/** Empty where there is no list. */
export function listAt(value: JsonValue | undefined, ...path: readonly (string | number)[]): JsonValue[] {
  const node = at(value, ...path)
  return Array.isArray(node) ? node : []
}

export function numberAt(value: JsonValue | undefined, ...path: readonly (string | number)[]): number | null {
  const node = at(value, ...path)
  return typeof node === 'number' ? node : null
}
