import type { Item } from '../domain/page.ts'

/** Registries of the deployed protocol leave listings of one instant in any order (`protocol.md` 1.7). */
export const newestFirst = (a: Item, b: Item): number =>
  b.createdAt - a.createdAt || (a.listingId < b.listingId ? -1 : a.listingId > b.listingId ? 1 : 0)
