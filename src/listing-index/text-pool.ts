/** A longer text is read anew each time: it will hardly come again. */
const MAX_POOLED = 48
const POOL_SLOTS = 2048

/**
 * Strings for the ASCII texts that stand in bytes, of which most have been met before: those come without a new
 * string, and with a hash that a `Map` has computed already. What collides is forgotten, so it never grows.
 */
export class TextPool {
  readonly #texts: string[] = new Array<string>(POOL_SLOTS).fill('')
  /** The same again, `MAX_POOLED` bytes for each: comparing bytes with characters takes three times as long. */
  readonly #copies = Buffer.alloc(POOL_SLOTS * MAX_POOLED)

  /** The text from `start` to before `end`. */
  read(bytes: Uint8Array, start: number, end: number): string {
    const length = end - start
    if (length > MAX_POOLED) return asciiText(bytes, start, end)
    const slot = sampleHash(bytes, start, end) & (POOL_SLOTS - 1)
    const pooled = this.#texts[slot]!
    const copy = slot * MAX_POOLED
    const isSame = pooled.length === length && areSame(this.#copies, copy, bytes, start, length)
    return isSame ? pooled : this.#keep(slot, bytes, start, end)
  }

  #keep(slot: number, bytes: Uint8Array, start: number, end: number): string {
    const text = asciiText(bytes, start, end)
    this.#texts[slot] = text
    this.#copies.set(bytes.subarray(start, end), slot * MAX_POOLED)
    return text
  }
}

/** A number that is often different for different texts: their length and a few of their bytes make it. */
export const sampleHash = (bytes: Uint8Array, start: number, end: number): number => {
  const length = end - start
  if (length < 4)
    return length === 0 ? 0 : Math.imul(bytes[start]!, 31) + Math.imul(bytes[end - 1]!, 7) + length
  const last = bytes[end - 1]! | (bytes[end - 2]! << 8) | (bytes[end - 3]! << 16)
  const other = bytes[start]! | (bytes[start + (length >> 1)]! << 8) | (bytes[start + (length >> 2)]! << 16)
  const mixed = Math.imul(last, 0x9e3779b1) ^ Math.imul(other + length, 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}

/** Whether two stretches of bytes are the same. */
export const areSame = (
  a: Uint8Array,
  aStart: number,
  b: Uint8Array,
  bStart: number,
  length: number,
): boolean => {
  for (let n = 0; n < length; n++) if (a[aStart + n] !== b[bStart + n]) return false
  return true
}

const asciiText = ({ buffer, byteOffset }: Uint8Array, start: number, end: number): string =>
  Buffer.from(buffer, byteOffset + start, end - start).toString('latin1')
