import { FIELD_END, LISTING_END, type PackedListings } from '../domain/packed-listings.ts'
import type { Micros } from '../domain/timestamp.ts'

/** Leaves out listings that were removed, or removed and published again, after `ids` were read. */
export function packListings(
  ids: readonly string[],
  rows: readonly (Buffer | null)[],
  last: Micros,
): PackedListings {
  const bytes = Buffer.allocUnsafeSlow(ids.reduce((sum, id, n) => sum + mostBytes(id, rows[n]!), 0))
  let count = 0
  let end = 0
  for (const [n, id] of ids.entries()) {
    const row = rows[n]!
    if (row === null || createdAt(row) > last) continue
    end += bytes.write(id, end)
    bytes[end++] = FIELD_END
    end += row.copy(bytes, end)
    bytes[end++] = LISTING_END
    count++
  }
  return { count, bytes: bytes.subarray(0, end) }
}

const MOST_BYTES_PER_CHARACTER = 3

const mostBytes = (id: string, row: Buffer | null): number =>
  row === null ? 0 : id.length * MOST_BYTES_PER_CHARACTER + row.length + 2

function createdAt(row: Buffer): Micros {
  const status = row.indexOf(FIELD_END) + 1
  const start = row.indexOf(FIELD_END, status) + 1
  return Number(row.toString('latin1', start, row.indexOf(FIELD_END, start)))
}
