import { BACKSLASH, QUOTE, type RowText } from './row-text.ts'

export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_BRACE = 0x7b
export const OPEN_BRACKET = 0x5b
const CLOSE_BRACE = 0x7d
export const CLOSE_BRACKET = 0x5d
const SPACE = 0x20
/** The one bit in which `[` and `{`, `]` and `}` differ; no other byte becomes a brace with it. */
const BRACE_BIT = 0x20

export function skipSpace({ bytes, length }: RowText, at: number): number {
  let position = at
  while (position < length && bytes[position]! <= SPACE) position++
  return position
}

/** Behind the value at `at`; at most the end, whatever the bytes. */
export function skipValue(row: RowText, at: number): number {
  if (at >= row.length) return row.length
  const first = row.bytes[at]!
  if (first === QUOTE) return skipString(row, at)
  return (first | BRACE_BIT) === OPEN_BRACE ? skipContainer(row, at) : skipScalar(row, at)
}

export function skipScalar({ bytes, length }: RowText, at: number): number {
  let end = at
  while (end < length && !endsScalar(bytes[end]!)) end++
  return end
}

export const endsScalar = (byte: number): boolean =>
  byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte <= SPACE

function skipString(row: RowText, at: number): number {
  const end = row.plainStringEnd(at)
  return end === -1 ? skipOddString(row, at) : end + 1
}

function skipOddString({ bytes, length }: RowText, at: number): number {
  for (let position = at + 1; position < length; position++) {
    const byte = bytes[position]!
    if (byte === QUOTE) return position + 1
    if (byte === BACKSLASH) position++
  }
  return length
}

function skipContainer(row: RowText, at: number): number {
  const { bytes, length } = row
  let depth = 0
  for (let position = at; position < length; position++) {
    const byte = bytes[position]!
    if (byte === QUOTE) position = skipString(row, position) - 1
    else if ((byte | BRACE_BIT) === OPEN_BRACE) depth++
    else if ((byte | BRACE_BIT) === CLOSE_BRACE && --depth === 0) return position + 1
  }
  return length
}
