const CHUNK_BYTES = 64 * 1024
/** Longer texts have their own chunk, which bounds the waste at the end of others. */
const MAX_SHARED_BYTES = 8 * 1024

/** Nothing is overwritten, so views stay valid. A chunk is freed with the last text that refers to it. */
export class TextStore {
  #chunk: Uint8Array = new Uint8Array(0)
  #used = 0

  /** Returns a view of a copy, whose buffer other texts may share: do not write to it. */
  add(bytes: Uint8Array): Uint8Array {
    const { length } = bytes
    if (length > MAX_SHARED_BYTES) return new Uint8Array(bytes)
    if (this.#used + length > this.#chunk.length) {
      this.#chunk = new Uint8Array(Buffer.allocUnsafeSlow(CHUNK_BYTES).buffer)
      this.#used = 0
    }
    this.#chunk.set(bytes, this.#used)
    this.#used += length
    return this.#chunk.subarray(this.#used - length, this.#used)
  }
}
