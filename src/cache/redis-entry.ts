import type { Kept } from './cache.ts'

export type Codec<Value> = {
  encode: (value: Value) => Uint8Array
  /** @throws for what it cannot read */
  decode: (bytes: Buffer) => Value
}

/** The version of this layout: another is not read. */
const FORMAT = 1
/** Format, length of the generation, and four times as doubles. */
const HEADER_BYTES = 2 + 4 * 8

/** One entry as bytes: header, generation, value. */
export const encodeEntry = <Value>(
  { value, lifetime }: Kept<Value>,
  generation: string,
  codec: Codec<Value>,
): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES)
  const word = Buffer.from(generation)
  header.writeUInt8(FORMAT, 0)
  header.writeUInt8(word.length, 1)
  const { fetchedAt, staleAt, waitAt, deleteAt } = lifetime
  for (const [n, time] of [fetchedAt, staleAt, waitAt, deleteAt].entries())
    header.writeDoubleLE(time, 2 + n * 8)
  return Buffer.concat([header, word, codec.encode(value)])
}

/** `null` for what we have not written, and for what is of another generation. */
export const decodeEntry = <Value>(
  bytes: Buffer,
  generation: string,
  codec: Codec<Value>,
): Kept<Value> | null => {
  if (bytes.length < HEADER_BYTES || bytes[0] !== FORMAT) return null
  const start = HEADER_BYTES + bytes.readUInt8(1)
  if (bytes.toString('utf8', HEADER_BYTES, start) !== generation) return null
  const [fetchedAt = 0, staleAt = 0, waitAt = 0, deleteAt = 0] = [0, 1, 2, 3].map((n) =>
    bytes.readDoubleLE(2 + n * 8),
  )
  try {
    const value = codec.decode(copyOf(bytes.subarray(start)))
    return { value, lifetime: { fetchedAt, staleAt, waitAt, deleteAt } }
  } catch {
    // Somebody else's, or cut off: as good as nothing.
    return null
  }
}

/** Replies lie in a buffer that they share with others, and which they would keep. */
const copyOf = (bytes: Buffer): Buffer => {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
