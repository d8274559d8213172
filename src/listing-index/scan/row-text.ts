import { firstMark, JsonScanner, QUOTE, quotesIn } from '../../json/scanner.ts'

/** So that four-byte words can be read to the end of the text. */
const MARGIN_BYTES = 4

/** A reused buffer. */
export class RowText extends JsonScanner {
  declare readonly bytes: Buffer
  readonly #view: DataView

  constructor(most: number) {
    const bytes = Buffer.alloc(most + MARGIN_BYTES)
    super(bytes, 0)
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  load(text: Uint8Array): void {
    this.length = text.length
    this.bytes.set(text)
    this.bytes[text.length] = 0
  }

  /** Four bytes; up to three may lie beyond the end. */
  word(at: number): number {
    return this.#view.getInt32(at, true)
  }

  /** The closing quote of the string at `at`; -1 where it has an escape or is not ASCII. */
  plainStringEnd(at: number): number {
    for (let position = at + 1; position < this.length; position += 4) {
      const word = this.#view.getInt32(position, true)
      const marks = (quotesIn(word) | word) & 0x80808080
      if (marks === 0) continue
      const end = position + firstMark(marks)
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
