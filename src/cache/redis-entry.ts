import type { CacheEntry } from './lru.ts'

/** Entries of another layout version are misses. */
const FORMAT = 2
/** Format, length of the generation, and four times as doubles. */
const HEADER_BYTES = 2 + 4 * 8

export function encodeEntry({ value, lifetime }: CacheEntry<Uint8Array>, generation: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  const word = Buffer.from(generation)
  header.writeUInt8(FORMAT, 0)
  header.writeUInt8(word.length, 1)
  const { fetchedAt, staleAt, revalidateUntil, deleteAt } = lifetime
  for (const [n, time] of [fetchedAt, staleAt, revalidateUntil, deleteAt].entries())
    header.writeDoubleLE(time, 2 + n * 8)
  return Buffer.concat([header, word, value])
}

/** `null` for another format or generation, or impossible times. */
export function decodeEntry(bytes: Buffer, generation: string): CacheEntry<Buffer> | null {
  if (bytes.length < HEADER_BYTES || bytes[0] !== FORMAT) return null
  const start = HEADER_BYTES + bytes.readUInt8(1)
  if (bytes.toString('utf8', HEADER_BYTES, start) !== generation) return null
  const times = [0, 1, 2, 3].map((n) => bytes.readDoubleLE(2 + n * 8))
  const [fetchedAt = 0, staleAt = 0, revalidateUntil = 0, deleteAt = 0] = times
  if (!times.every(Number.isFinite)) return null
  return { value: copyOf(bytes.subarray(start)), lifetime: { fetchedAt, staleAt, revalidateUntil, deleteAt } }
}

/** A reply is a slice of a shared buffer, which it would keep alive. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
