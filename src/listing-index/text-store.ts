const CHUNK_BYTES = 64 * 1024
/** Longer texts have their own chunk, which bounds the waste at the end of others. */
const MAX_SHARED_BYTES = 8 * 1024

/** A listing's bytes: part of a chunk, which other texts may share. */
export type Text = { chunk: Uint8Array; start: number; length: number }

/** Nothing is overwritten, so views stay valid. A chunk is freed with the last text that refers to it. */
export class TextStore {
  #chunk: Uint8Array = new Uint8Array(0)
  #used = 0

  add(bytes: Uint8Array): Text {
    const { length } = bytes
    if (length > MAX_SHARED_BYTES) return { chunk: new Uint8Array(bytes), start: 0, length }
    if (this.#used + length > this.#chunk.length) {
      this.#chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
      this.#used = 0
    }
    const start = this.#used
    this.#chunk.set(bytes, start)
    this.#used += length
    return { chunk: this.#chunk, start, length }
  }
}

/** A view, not a copy: do not write to it. */
export const viewOf = ({ chunk, start, length }: Text): Uint8Array => chunk.subarray(start, start + length)
