import { comparePriceKeys, type PriceKey } from '../price/price-key.ts'
import type { Micros } from '../timestamp.ts'

/**
 * A place in an order of listings, and where reading goes on behind it: by price, where the order has one, then newest first,
 * then by source and row.
 */
export type Position = {
  /** Number of the group whose prices compare. */
  group?: number
  /** The price in its group. */
  key?: PriceKey
  /** The time that orders it. */
  position: Micros
  /** Of its source; the best has 0. */
  rank?: number
  /** Its row in its source, which begins with its id. `null`: behind every listing of that time. */
  listingId: string | null
}

/** In an order by price. */
export type PricePosition = Position & { group: number; key: PriceKey; listingId: string }

/** In a merge of sources. */
export type MergedPosition = Position & { rank: number; listingId: string }

type Placed = { position: Micros; listingId: string; row?: string }

export function placeOf({ position, listingId, row = listingId }: Placed): Position & { listingId: string } {
  return { position, listingId: row }
}

/** Compares what both have. */
export function comparePositions(a: Position, b: Position): number {
  if (a.group !== undefined && b.group !== undefined && a.group !== b.group) return a.group - b.group
  const byPrice = a.key === undefined || b.key === undefined ? 0 : comparePriceKeys(a.key, b.key)
  if (byPrice !== 0) return byPrice
  if (a.position !== b.position) return b.position - a.position
  if (a.rank !== undefined && b.rank !== undefined && a.rank !== b.rank) return a.rank - b.rank
  if (a.listingId === b.listingId) return 0
  return isBefore(a.listingId, b.listingId) ? -1 : 1
}

function isBefore(a: string | null, b: string | null): boolean {
  return a !== null && (b === null || a < b)
}

/** `null`: from the first. */
export function isAfter(position: Position, after: Position | null): boolean {
  return after === null || comparePositions(position, after) > 0
}

/** Where a source of that rank continues: ties of better sources precede a position, those of worse ones follow it. */
export function positionIn(rank: number, after: MergedPosition | null): Position | null {
  if (after === null) return null
  const { position, listingId } = after
  if (rank === after.rank) return { position, listingId }
  return { position, listingId: rank < after.rank ? null : '' }
}

/** A position before all rows of that place, with hardly any other between them. */
export function beforePlace<P extends Position & { listingId: string }>(after: P): P {
  const last = after.listingId.charCodeAt(after.listingId.length - 1)
  const start = after.listingId.slice(0, -1)
  return { ...after, listingId: last > 0 ? `${start}${String.fromCharCode(last - 1)}\uffff` : start }
}
