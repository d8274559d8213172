import type { Item } from '../../domain/source/item.ts'
import { comparePositions } from '../../domain/source/position.ts'
import { sizeOf } from './pull.ts'

/** The newest of them within the bounds. */
export function newestOf(
  listings: ReadonlyMap<string, Item>,
  { maxListings, maxBytes }: { maxListings: number; maxBytes: number },
): ReadonlyMap<string, Item> {
  let bytes = 0
  for (const item of listings.values()) bytes += sizeOf(item)
  if (listings.size <= maxListings && bytes <= maxBytes) return listings
  const newest = new Map<string, Item>()
  bytes = 0
  for (const [key, item] of [...listings].sort(([, a], [, b]) => comparePositions(a, b))) {
    bytes += sizeOf(item)
    if (newest.size >= maxListings || bytes > maxBytes) break
    newest.set(key, item)
  }
  return newest
}

/** `undefined` where they are all. */
export function partOfAll({ size }: ReadonlyMap<string, Item>, all: number): number | undefined {
  return size < all ? all : undefined
}
