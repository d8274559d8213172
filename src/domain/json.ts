/** A parsed JSON value that lost nothing: an integer literal outside the safe range is a bigint. */
export type JsonValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | JsonValue[]
  | { [name: string]: JsonValue }
export type JsonObject = { [name: string]: JsonValue }

const LONG_DIGITS = /\d{16}/
const INTEGER = /^-?\d+$/

/**
 * `JSON.parse` that keeps integers of any size exact. Text without a run of 16 digits cannot hold one and takes the
 * plain parser; the reviver (about ten times slower) sees only the others.
 * @throws SyntaxError
 */
export const parseJson = (text: string): JsonValue =>
  LONG_DIGITS.test(text) ? parseWithSource(text, keepInteger) : JSON.parse(text)

/** TypeScript's library does not know the reviver's third argument yet (ECMAScript 2026, JSON.parse source text). */
const parseWithSource = JSON.parse as (
  text: string,
  reviver: (name: string, value: unknown, context: { source: string }) => unknown,
) => JsonValue

const keepInteger = (_name: string, value: unknown, context: { source: string }): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && INTEGER.test(context.source)
    ? BigInt(context.source)
    : value

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Deepest nesting of arrays and objects in a JSON text; 0 for a scalar. Never throws, whatever the bytes. */
export const nestingDepth = (bytes: Uint8Array): number => {
  let depth = 0
  let deepest = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) at = stringEnd(bytes, at) - 1
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) deepest = Math.max(deepest, ++depth)
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--
  }
  return deepest
}

/** Where a value stands in its text: `[start, end)`. */
export type Slice = { start: number; end: number }
/** A member of an object: `start` is its name's opening quote, `value` its value. */
export type Member = Slice & { name: string; value: Slice }

/**
 * The members of the object that starts at `at`, in order, repeated names included.
 * The bytes must be JSON that a parser has already accepted: nothing is validated here.
 */
export const objectMembers = (bytes: Uint8Array, at = 0): Member[] => {
  const members: Member[] = []
  let position = skipSpace(bytes, skipSpace(bytes, at) + 1)
  while (bytes[position] === QUOTE) {
    const nameEnd = stringEnd(bytes, position)
    const start = skipSpace(bytes, skipSpace(bytes, nameEnd) + 1)
    const end = valueEnd(bytes, start)
    members.push({ name: stringAt(bytes, position, nameEnd), start: position, end, value: { start, end } })
    position = skipSpace(bytes, end)
    if (bytes[position] === COMMA) position = skipSpace(bytes, position + 1)
  }
  return members
}

/** The elements of the array that starts at `at`, under the same condition as `objectMembers`. */
export const arrayElements = (bytes: Uint8Array, at = 0): Slice[] => {
  const elements: Slice[] = []
  let start = skipSpace(bytes, skipSpace(bytes, at) + 1)
  while (start < bytes.length && bytes[start] !== CLOSE_BRACKET) {
    const end = valueEnd(bytes, start)
    elements.push({ start, end })
    start = skipSpace(bytes, end)
    if (bytes[start] === COMMA) start = skipSpace(bytes, start + 1)
  }
  return elements
}

/** The object's bytes without any member of that name; the very same bytes where it has none. */
export const withoutMember = (bytes: Uint8Array, name: string): Uint8Array => {
  const members = objectMembers(bytes)
  if (!members.some((member) => member.name === name)) return bytes
  const kept = members.filter((member) => member.name !== name)
  const parts = kept.flatMap((member, n): Uint8Array[] => {
    const part = bytes.subarray(member.start, member.end)
    return n === 0 ? [part] : [COMMA_BYTES, part]
  })
  return Buffer.concat([OPEN_BYTES, ...parts, CLOSE_BYTES])
}

/** The object's bytes with one more member behind the last. `value` is JSON text. */
export const withMember = (bytes: Uint8Array, name: string, value: string): Buffer => {
  const close = bytes.lastIndexOf(CLOSE_BRACE)
  const empty = objectMembers(bytes).length === 0
  return Buffer.concat([
    bytes.subarray(0, close),
    Buffer.from(`${empty ? '' : ','}${JSON.stringify(name)}:${value}}`),
  ])
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const SPACE = 0x20
const COMMA_BYTES = Buffer.from(',')
const OPEN_BYTES = Buffer.from('{')
const CLOSE_BYTES = Buffer.from('}')

const skipSpace = (bytes: Uint8Array, at: number): number => {
  let position = at
  while (position < bytes.length && bytes[position]! <= SPACE) position++
  return position
}

/** Behind the closing quote of the string that opens at `at`; the end of the bytes where it is never closed. */
const stringEnd = (bytes: Uint8Array, at: number): number => {
  let position = at + 1
  while (position < bytes.length) {
    const byte = bytes[position]
    if (byte === QUOTE) return position + 1
    position += byte === BACKSLASH ? 2 : 1
  }
  return bytes.length
}

const stringAt = (bytes: Uint8Array, start: number, end: number): string =>
  JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8'))

const valueEnd = (bytes: Uint8Array, at: number): number => {
  const first = bytes[at]
  if (first === QUOTE) return stringEnd(bytes, at)
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return containerEnd(bytes, at)
  let position = at
  while (position < bytes.length && !endsScalar(bytes[position]!)) position++
  return position
}

const endsScalar = (byte: number): boolean =>
  byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte <= SPACE

const containerEnd = (bytes: Uint8Array, at: number): number => {
  let depth = 0
  for (let position = at; position < bytes.length; position++) {
    const byte = bytes[position]
    if (byte === QUOTE) position = stringEnd(bytes, position) - 1
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) return position + 1
  }
  return bytes.length
}
