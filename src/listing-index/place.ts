import type { Micros } from '../domain/timestamp.ts'

export type Place = { createdAt: Micros; listingId: string }

/** Negative when `a` is older. Readers see the reverse; ids compare by UTF-16 code units, lower first. */
export const comparePlaces = (a: Place, b: Place): number =>
  a.createdAt - b.createdAt || (a.listingId === b.listingId ? 0 : a.listingId < b.listingId ? 1 : -1)
