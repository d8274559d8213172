/** Memory is taken in pieces of this size. */
const CHUNK_BYTES = 256 * 1024
/** A longer text gets a piece of its own, so that at most this much is left over at the end of any other. */
const MAX_SHARED_BYTES = 32 * 1024

/** Where a text stands in its `ByteStore`. */
export type Extent = { chunk: number; start: number; length: number }

/**
 * Texts one behind the other in large pieces of memory. Nothing that was written is ever written over, so a view
 * stays valid for as long as somebody holds it; space is won back by copying what is still wanted to a new store.
 */
export class ByteStore {
  readonly #chunks: Uint8Array[] = []
  #chunk = -1
  #used = CHUNK_BYTES

  /** Copies the text in. */
  add(text: Uint8Array): Extent {
    const { length } = text
    if (length > MAX_SHARED_BYTES) {
      this.#chunks.push(new Uint8Array(text))
      return { chunk: this.#chunks.length - 1, start: 0, length }
    }
    if (this.#used + length > CHUNK_BYTES) this.#open()
    const start = this.#used
    this.#chunks[this.#chunk]!.set(text, start)
    this.#used += length
    return { chunk: this.#chunk, start, length }
  }

  /** The text itself, not a copy: not to be written to. */
  view({ chunk, start, length }: Extent): Uint8Array {
    return this.#chunks[chunk]!.subarray(start, start + length)
  }

  #open(): void {
    this.#chunk = this.#chunks.push(Buffer.allocUnsafeSlow(CHUNK_BYTES)) - 1
    this.#used = 0
  }
}
