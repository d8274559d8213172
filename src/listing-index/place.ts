import type { Micros } from '../domain/timestamp.ts'

/** What decides where a listing stands among all others. */
export type Place = { createdAt: Micros; listingId: string }

/**
 * Negative when `a` is the older one. Readers see the reverse of this order: newest first, and of the same instant
 * the lower `listing_id` first, compared by UTF-16 code units.
 */
export const comparePlaces = (a: Place, b: Place): number =>
  a.createdAt - b.createdAt || (a.listingId === b.listingId ? 0 : a.listingId < b.listingId ? 1 : -1)
