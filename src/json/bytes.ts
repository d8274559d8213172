export const QUOTE = 0x22
export const BACKSLASH = 0x5c
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_BRACE = 0x7b
export const CLOSE_BRACE = 0x7d
export const OPEN_BRACKET = 0x5b
export const CLOSE_BRACKET = 0x5d
export const SPACE = 0x20
export const MINUS = 0x2d
export const PLUS = 0x2b
export const POINT = 0x2e
export const ZERO = 0x30
/** The one bit in which `[` and `{`, `]` and `}` differ; no other byte becomes a brace with it. */
export const BRACE_BIT = 0x20

/** The white space of JSON: https://www.rfc-editor.org/rfc/rfc8259#section-2 */
export function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09
}

export function isDigit(byte: number | undefined): boolean {
  return byte! >= ZERO && byte! <= ZERO + 9
}

/** Whether it ends a number, `true`, `false` or `null`. */
export function endsScalar(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte <= SPACE
}
