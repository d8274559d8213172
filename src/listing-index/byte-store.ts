const CHUNK_BYTES = 256 * 1024
/** Longer texts have their own chunk, which bounds the waste at the end of others. */
const MAX_SHARED_BYTES = 32 * 1024

type Extent = { chunk: number; start: number; length: number }

/** Plain data. `chunk` is being filled, -1 for none; `used` are its bytes. */
export type ByteStoreParts = { chunks: Uint8Array[]; chunk: number; used: number }

/** Nothing is overwritten, so views stay valid. Space is freed by copying live texts to a new store. */
export class ByteStore {
  readonly #chunks: Uint8Array[]
  #chunk: number
  #used: number

  constructor({ chunks, chunk, used }: ByteStoreParts = { chunks: [], chunk: -1, used: 0 }) {
    this.#chunks = chunks
    this.#chunk = chunk
    this.#used = used
  }

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

  /** A view, not a copy: do not write to it. */
  view({ chunk, start, length }: Extent): Uint8Array {
    return this.#chunks[chunk]!.subarray(start, start + length)
  }

  parts(): ByteStoreParts {
    return { chunks: this.#chunks, chunk: this.#chunk, used: this.#used }
  }

  #open(): void {
    this.#chunk = this.#chunks.push(Buffer.allocUnsafeSlow(CHUNK_BYTES)) - 1
    this.#used = 0
  }
}
