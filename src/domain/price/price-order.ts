import type { PriceKey, PricePer, ScaleOf, SizesOf } from './price-key.ts'

/**
 * Groups of bases (`basisOf`) whose prices compare, in the order of the answer. A listing belongs to the first group
 * in which it has a price, at its lowest price there; listings without one come last, newest first.
 */
export type PriceOrder = {
  groups: readonly (readonly string[])[]
  per: PricePer
  /** Absent: keys compare as they are. */
  scaleOf?: ScaleOf | undefined
  /** Higher prices, of scaled keys, do not compare; `undefined`: all do. */
  max?: PriceKey | undefined
}

/** Of the matches with a price in one group, each at its lowest. */
export type PriceCounts = {
  offers: number
  /** GPUs of the offers that give a valid count. */
  gpus: number
  /** Ascending and different. */
  keys: readonly PriceKey[]
  /** Offers per key. */
  counts: readonly number[]
}

/** Which prices of a listing count as one, of which the lowest counts. Equal functions are the same one. */
export type PriceGrouping = {
  per: PricePer
  groupOf: (basis: string) => string
  scaleOf?: ScaleOf | undefined
  sizesOf: SizesOf
}
