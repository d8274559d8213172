/** Memory is taken in pieces of this size. */
const CHUNK_BYTES = 256 * 1024
/** A longer text gets a piece of its own, so that at most this much is left over at the end of any other. */
const MAX_SHARED_BYTES = 32 * 1024

/** Where a text stands in its `ByteStore`. */
type Extent = { chunk: number; start: number; length: number }

/** A `ByteStore` as plain data: its pieces, which of them is being filled (-1 for none), and how far it is. */
export type ByteStoreParts = { chunks: Uint8Array[]; chunk: number; used: number }

/**
 * Texts one behind the other in large pieces of memory. Nothing that was written is ever written over, so a view
 * stays valid for as long as somebody holds it; space is won back by copying what is still wanted to a new store.
 */
export class ByteStore {
  readonly #chunks: Uint8Array[]
  #chunk: number
  #used: number

  /** Takes the parts over; without any it begins empty. */
  constructor({ chunks, chunk, used }: ByteStoreParts = { chunks: [], chunk: -1, used: 0 }) {
    this.#chunks = chunks
    this.#chunk = chunk
    this.#used = used
  }

  /** Copies the text in. */
  add(text: Uint8Array): Extent {
    const { length } = text
    if (length > MAX_SHARED_BYTES) {
      this.#chunks.push(new Uint8Array(text))
      return { chunk: this.#chunks.length - 1, start: 0, length }
    }
    if (this.#chunk === -1 || this.#used + length > CHUNK_BYTES) this.#open()
    const start = this.#used
    this.#chunks[this.#chunk]!.set(text, start)
    this.#used += length
    return { chunk: this.#chunk, start, length }
  }

  /** The text itself, not a copy: not to be written to. */
  view({ chunk, start, length }: Extent): Uint8Array {
    return this.#chunks[chunk]!.subarray(start, start + length)
  }

  /** This store must not be used any more. */
  parts(): ByteStoreParts {
    return { chunks: this.#chunks, chunk: this.#chunk, used: this.#used }
  }

  #open(): void {
    this.#chunk = this.#chunks.push(Buffer.allocUnsafeSlow(CHUNK_BYTES)) - 1
    this.#used = 0
  }
}
