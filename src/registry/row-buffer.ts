/** What most rows fit into, however many bytes a character takes. */
const USUAL_BYTES = 64 * 1024
const MOST_BYTES_PER_CHARACTER = 3

/** Turns one text after the other into UTF-8 in the same memory, for a reader that copies what it wants to keep. */
export class RowBuffer {
  readonly #bytes = Buffer.allocUnsafe(USUAL_BYTES)

  /** The text's bytes, until the next call. */
  write(text: string): Uint8Array {
    if (text.length * MOST_BYTES_PER_CHARACTER > USUAL_BYTES) return Buffer.from(text)
    return this.#bytes.subarray(0, this.#bytes.write(text))
  }
}
