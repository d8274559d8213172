export const QUOTE = 0x22
const BACKSLASH = 0x5c
export const COMMA = 0x2c
export const OPEN_BRACE = 0x7b
export const CLOSE_BRACE = 0x7d
export const OPEN_BRACKET = 0x5b
export const CLOSE_BRACKET = 0x5d
const SPACE = 0x20
/** The one bit in which `[` and `{`, `]` and `}` differ; no other byte becomes a brace with it. */
export const BRACE_BIT = 0x20

/** The white space of JSON: https://www.rfc-editor.org/rfc/rfc8259#section-2 */
export function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/** Whether it ends a number, `true`, `false` or `null`. */
function endsScalar(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte <= SPACE
}

/** `[start, end)` */
export type Slice = { start: number; end: number }

/**
 * Finds where JSON ends, several times as fast as `JSON.parse`: it reads strings four bytes at a time.
 * Its methods accept any bytes, and return the end of the text at most.
 */
export class JsonScanner {
  readonly bytes: Uint8Array
  /** Of the text. A zero byte follows it where `bytes` is longer. */
  length: number
  readonly #view: DataView
  readonly #lastWord: number

  constructor(bytes: Uint8Array, length = bytes.length) {
    this.bytes = bytes
    this.length = length
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#lastWord = bytes.length - 4
  }

  skipSpace(at: number): number {
    if (this.bytes[at]! > SPACE) return at
    let position = at
    while (isSpace(this.bytes[position])) position++
    return position
  }

  valueEnd(at: number): number {
    if (at >= this.length) return this.length
    const first = this.bytes[at]!
    if (first === QUOTE) return this.stringEnd(at)
    return (first | BRACE_BIT) === OPEN_BRACE ? this.#containerEnd(at) : this.scalarEnd(at)
  }

  stringEnd(at: number): number {
    for (let position = this.#nextMark(at + 1); position < this.length; position = this.#nextMark(position)) {
      const byte = this.bytes[position]
      if (byte === QUOTE) return position + 1
      position += byte === BACKSLASH ? 2 : 1
    }
    return this.length
  }

  scalarEnd(at: number): number {
    let end = at
    while (end < this.length && !endsScalar(this.bytes[end]!)) end++
    return end
  }

  #containerEnd(at: number): number {
    const { bytes, length } = this
    let depth = 0
    for (let position = at; position < length; position++) {
      const byte = bytes[position]!
      if (byte === QUOTE) position = this.stringEnd(position) - 1
      else if ((byte | BRACE_BIT) === OPEN_BRACE) depth++
      else if ((byte | BRACE_BIT) === CLOSE_BRACE && --depth === 0) return position + 1
    }
    return length
  }

  /** The elements are not checked. `null` where no array begins, or where it is malformed around its elements. */
  arrayAt(at: number): { elements: Slice[]; end: number } | null {
    const { bytes } = this
    const elements: Slice[] = []
    const open = this.skipSpace(at)
    if (bytes[open] !== OPEN_BRACKET) return null
    let start = this.skipSpace(open + 1)
    if (bytes[start] === CLOSE_BRACKET) return { elements, end: start + 1 }
    for (;;) {
      const end = this.valueEnd(start)
      if (end === start) return null
      elements.push({ start, end })
      const next = this.skipSpace(end)
      if (bytes[next] === CLOSE_BRACKET) return { elements, end: next + 1 }
      if (bytes[next] !== COMMA) return null
      start = this.skipSpace(next + 1)
    }
  }

  /** The next quote, backslash or control character, at `at` or after it; else the end. */
  #nextMark(at: number): number {
    let position = at
    for (; position <= this.#lastWord; position += 4) {
      const word = this.#view.getInt32(position, true)
      const marks = (quotesIn(word) | ((word - 0x20202020) & ~word)) & 0x80808080
      // The first byte whose high bit is set; a call as deep as this one is often not inlined.
      if (marks !== 0) return position + ((31 - Math.clz32(marks & -marks)) >> 3)
    }
    while (position < this.bytes.length && !isMark(this.bytes[position]!)) position++
    return position
  }
}

/** The high bit of a byte that is a quote or backslash: https://graphics.stanford.edu/~seander/bithacks.html#ZeroInWord */
function quotesIn(word: number): number {
  const quotes = word ^ 0x22222222
  const backslashes = word ^ 0x5c5c5c5c
  return ((quotes - 0x01010101) & ~quotes) | ((backslashes - 0x01010101) & ~backslashes)
}

function isMark(byte: number): boolean {
  return byte === QUOTE || byte === BACKSLASH || byte < SPACE
}
