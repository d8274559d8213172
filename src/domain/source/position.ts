import type { Micros } from '../timestamp.ts'

/** The time that orders a listing in its source, and its id. */
type Position = { position: Micros; listingId: string }

/** Newest first, then by id. */
export function comparePositions(a: Position, b: Position): number {
  if (a.position !== b.position) return b.position - a.position
  return a.listingId === b.listingId ? 0 : a.listingId < b.listingId ? -1 : 1
}
