import { addTo } from '../../domain/counts.ts'
import { type PriceKey, toPriceKey } from '../../domain/price/price-key.ts'
import type { Reader } from '../../domain/reader.ts'
import type { Item } from '../../domain/source/item.ts'
import type { Asked } from '../asked.ts'

/** One in so many of the lower median is the least price that is no outlier. */
export const OUTLIER_PART = 100n
/** Of a model, so that its median says something: each of them counts once. */
export const LEAST_PUBLISHERS = 5
/** Groups of prices that have bounds, those of most offers: sellers choose units. */
const MAX_GROUPS = 32
/** Below which prices are too low to be meant: by model and by group of prices, over what a reader may see. */
export type PriceBounds = {
  /** Of this count. */
  id: number
  /** The groups in which the price of a listing is an outlier. */
  outliersOf: (item: Item, source: string) => readonly string[]
  /** By group. From here on no price is an outlier, of whatever model. */
  highest: ReadonlyMap<string, PriceKey>
  /** The bounds that mark something: `outliersOf` follows from them for every listing that was looked at. */
  marking: () => readonly Bound[]
  /** Whether answers that these bounds marked may be sent again. */
  isCurrent: () => boolean
}

/** By group, then by model: the least price that is no outlier. */
export type BoundsByGroup = ReadonlyMap<string, ReadonlyMap<string, PriceKey>>

/** One of them, as a cursor carries it. */
export type Bound = readonly [group: string, model: string, key: string]

/** @param asked the question of the answer */
export type FindBounds = (reader: Reader, asked?: Asked) => Promise<PriceBounds>

export const NO_BOUNDS: PriceBounds = {
  id: 0,
  outliersOf: () => [],
  highest: new Map(),
  marking: () => [],
  isCurrent: () => true,
}

type Counts = Map<PriceKey, number>

/** Counts the offers of each model and group, by publisher. */
export class BoundsCounter {
  /** By group, by model, by publisher: offers per key. */
  readonly #counts = new Map<string, Map<string, Map<string, Counts>>>()

  /** @param seller equal for listings of one publisher */
  add(model: string, seller: string, byGroup: ReadonlyMap<string, PriceKey>): void {
    for (const [group, key] of byGroup) {
      const byModel = valueIn(this.#counts, group, () => new Map())
      const bySeller = valueIn(byModel, model, () => new Map())
      addTo(
        valueIn(bySeller, seller, () => new Map()),
        key,
      )
    }
  }

  /** Where there are enough publishers. */
  get bounds(): BoundsByGroup {
    const groups = Array.from(this.#counts, ([group, byModel]) => {
      const counted = Array.from(byModel).flatMap(([model, bySeller]) => {
        return bySeller.size < LEAST_PUBLISHERS ? [] : ([[model, boundOf(bySeller)]] as const)
      })
      const offers = byModel.values().flatMap((one) => one.values().map(sumOf))
      return { group, offers: offers.reduce((sum, one) => sum + one, 0), counted }
    })
    const kept = groups
      .filter(({ counted }) => counted.length > 0)
      .sort((a, b) => b.offers - a.offers || (a.group < b.group ? -1 : 1))
      .slice(0, MAX_GROUPS)
    return new Map(kept.map(({ group, counted }) => [group, new Map(counted)]))
  }
}

/** The least key of which `OUTLIER_PART` times are the lower median of the publishers' own lower medians, or more. */
function boundOf(bySeller: ReadonlyMap<string, Counts>): PriceKey {
  const medians: Counts = new Map()
  for (const counts of bySeller.values()) addTo(medians, lowerMedian(counts))
  return toPriceKey((BigInt(lowerMedian(medians)) + OUTLIER_PART - 1n) / OUTLIER_PART)
}

function lowerMedian(counts: Counts): PriceKey {
  let left = Math.ceil(sumOf(counts) / 2)
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
  const [median] = sorted.find(([, count]) => {
    left -= count
    return left <= 0
  })!
  return median
}

const sumOf = (counts: Counts): number => counts.values().reduce((sum, count) => sum + count, 0)

function valueIn<Value>(map: Map<string, Value>, key: string, create: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const value = create()
  map.set(key, value)
  return value
}
