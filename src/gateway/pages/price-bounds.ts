import type { PriceKey } from '../../domain/price/price-key.ts'
import type { Item } from '../../domain/source/item.ts'

/** One in so many of the lower median is the least price that is no outlier. */
export const OUTLIER_PART = 100n
/** Of a model, so that its median says something: each of them counts once. */
export const LEAST_PUBLISHERS = 5

/** Below which prices are too low to be meant: by model and by group of prices, over what a reader may see. */
export type PriceBounds = Marks & {
  /** Of this count. */
  id: number
  /** Whether answers that these bounds marked may be sent again. */
  isCurrent: () => boolean
}

export type Marks = {
  /** The groups in which the price of a listing is an outlier. */
  outliersOf: (item: Item, source: string) => readonly string[]
  /** By group. From here on no price is an outlier, of whatever model. */
  highest: ReadonlyMap<string, PriceKey>
  /** The bounds that mark something: `outliersOf` follows from them for every listing that was looked at. */
  marking: () => readonly Bound[]
}

/** As a cursor carries it: the least price of a model that is no outlier in a group. */
export type Bound = readonly [group: string, model: string, key: string]

export const NO_BOUNDS: PriceBounds = {
  id: 0,
  outliersOf: () => [],
  highest: new Map(),
  marking: () => [],
  isCurrent: () => true,
}
