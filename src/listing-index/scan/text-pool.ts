import type { RowText } from './row-text.ts'

/** Longer texts rarely repeat. */
const MAX_POOLED_WORDS = 12
const POOL_SLOTS = 32_768

/** Avoids a new string and its hash for repeated texts. A collision overwrites, so it never grows. */
export class TextPool {
  readonly #texts: string[] = new Array<string>(POOL_SLOTS).fill('')
  /** The texts as words: comparing bytes with characters takes ten times as long. */
  readonly #copies = new Int32Array(POOL_SLOTS * MAX_POOLED_WORDS)

  read(row: RowText, start: number, end: number): string {
    const length = end - start
    if (length > MAX_POOLED_WORDS * 4) return row.bytes.toString('latin1', start, end)
    const slot = hashAt(row, start, length) & (POOL_SLOTS - 1)
    const pooled = this.#texts[slot]!
    const copy = slot * MAX_POOLED_WORDS
    if (pooled.length === length && row.isAt(start, this.#copies, copy, length)) return pooled
    const text = row.bytes.toString('latin1', start, end)
    this.#texts[slot] = text
    this.#copies.set(wordsAt(row, start, length), copy)
    return text
  }
}

/** The last word is padded with zeros. */
export function wordsAt(row: RowText, start: number, length: number): Int32Array {
  const words = new Int32Array(Math.ceil(length / 4))
  for (let n = 0; n < length >> 2; n++) words[n] = row.word(start + n * 4)
  if ((length & 3) !== 0) words[length >> 2] = row.tail(start, length)
  return words
}

function hashAt(row: RowText, start: number, length: number): number {
  let hash = length
  for (let n = 0; n < length >> 2; n++) hash = mix(hash ^ row.word(start + n * 4))
  if ((length & 3) !== 0) hash = mix(hash ^ row.tail(start, length))
  return hash
}

function mix(hash: number): number {
  const mixed = Math.imul(hash, 0x9e3779b1)
  return mixed ^ (mixed >>> 15)
}
