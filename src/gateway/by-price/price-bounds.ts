import { type PriceKey, toPriceKey } from '../../domain/price/price-key.ts'
import type { Reader } from '../../domain/reader.ts'
import { addTo } from '../../domain/source/facet-counter.ts'
import type { Item } from '../../domain/source/reading.ts'
import type { Matches } from '../../domain/source/selection.ts'

/** One in so many of the lower median is the least price that is no outlier. */
const PART = 100n
/** Of a model, so that its median says something. */
const LEAST_OFFERS = 5
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
  /** Whether answers that these bounds marked may be sent again. */
  isCurrent: () => boolean
}

/** All matches of one source; `null` where it failed. */
export type WholeRead = { source: { name: string }; selection: Pick<Matches, 'items'> | null }

/** @param selected what was read whole for the answer */
export type FindBounds = (reader: Reader, selected?: readonly WholeRead[]) => Promise<PriceBounds>

export const NO_BOUNDS: PriceBounds = {
  id: 0,
  outliersOf: () => [],
  highest: new Map(),
  isCurrent: () => true,
}

/** Counts the offers of each model and group. */
export class BoundsCounter {
  /** By group, then by model: offers per key. */
  readonly #counts = new Map<string, Map<string, Map<PriceKey, number>>>()

  add(model: string, byGroup: ReadonlyMap<string, PriceKey>): void {
    for (const [group, key] of byGroup) {
      const byModel = valueIn(this.#counts, group, () => new Map())
      addTo(
        valueIn(byModel, model, () => new Map()),
        key,
      )
    }
  }

  /** By group, then by model, where there are enough offers. */
  get bounds(): ReadonlyMap<string, ReadonlyMap<string, PriceKey>> {
    const groups = Array.from(this.#counts, ([group, byModel]) => {
      const counted = Array.from(byModel, ([model, counts]) => ({ model, counts, offers: sumOf(counts) }))
      const offers = counted.reduce((sum, one) => sum + one.offers, 0)
      return { group, offers, counted: counted.filter((one) => one.offers >= LEAST_OFFERS) }
    })
    const kept = groups
      .filter(({ counted }) => counted.length > 0)
      .sort((a, b) => b.offers - a.offers || (a.group < b.group ? -1 : 1))
      .slice(0, MAX_GROUPS)
    return new Map(
      kept.map(({ group, counted }) => [
        group,
        new Map(counted.map(({ model, counts, offers }) => [model, boundOf(counts, offers)])),
      ]),
    )
  }
}

/** The least key of which `PART` times are the lower median or more. */
function boundOf(counts: ReadonlyMap<PriceKey, number>, offers: number): PriceKey {
  let left = Math.ceil(offers / 2)
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
  const [median] = sorted.find(([, count]) => {
    left -= count
    return left <= 0
  })!
  return toPriceKey((BigInt(median) + PART - 1n) / PART)
}

const sumOf = (counts: ReadonlyMap<PriceKey, number>): number =>
  counts.values().reduce((sum, count) => sum + count, 0)

function valueIn<Value>(map: Map<string, Value>, key: string, create: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const value = create()
  map.set(key, value)
  return value
}
