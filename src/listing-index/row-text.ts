export const QUOTE = 0x22
export const BACKSLASH = 0x5c

/** So that four-byte words can be read to the end of the text. */
const MARGIN_BYTES = 4

/** A reused buffer. Strings are scanned four bytes at a time, more than twice as fast as byte by byte. */
export class RowText {
  length = 0
  /** Beyond `length` it holds older text. */
  readonly bytes: Buffer
  readonly #view: DataView

  constructor(most: number) {
    this.bytes = Buffer.alloc(most + MARGIN_BYTES)
    this.#view = new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength)
  }

  load(text: Uint8Array): void {
    this.length = text.length
    this.bytes.set(text)
  }

  /** Four bytes; up to three may lie beyond the end. */
  word(at: number): number {
    return this.#view.getInt32(at, true)
  }

  /** The closing quote of the string at `at`; -1 where it has an escape or is not ASCII. */
  plainStringEnd(at: number): number {
    for (let position = at + 1; position < this.length; position += 4) {
      const marks = marksIn(this.#view.getInt32(position, true))
      if (marks === 0) continue
      const end = position + ((31 - Math.clz32(marks & -marks)) >> 3)
      return end < this.length && this.bytes[end] === QUOTE ? end : -1
    }
    return -1
  }

  /** Whether `length` bytes at `at` equal `words`, the last one padded with zeros. */
  isAt(at: number, words: Int32Array, first: number, length: number): boolean {
    if (at + length > this.length) return false
    const whole = length >> 2
    for (let n = 0; n < whole; n++)
      if (words[first + n] !== this.#view.getInt32(at + n * 4, true)) return false
    return (length & 3) === 0 || words[first + whole] === this.tail(at, length)
  }

  /** The last, partial word of `length` bytes at `at`, padded with zeros. */
  tail(at: number, length: number): number {
    return this.#view.getInt32(at + (length & ~3), true) & ((1 << ((length & 3) * 8)) - 1)
  }
}

/** The lowest set bit marks a byte: https://graphics.stanford.edu/~seander/bithacks.html#ZeroInWord */
function marksIn(word: number): number {
  const quotes = word ^ 0x22222222
  const backslashes = word ^ 0x5c5c5c5c
  const zeros = ((quotes - 0x01010101) & ~quotes) | ((backslashes - 0x01010101) & ~backslashes)
  return (zeros | word) & 0x80808080
}
