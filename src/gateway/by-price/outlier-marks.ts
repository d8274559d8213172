import { type PriceKey, toPriceKey } from '../../domain/price/price-key.ts'
import type { Item } from '../../domain/source/item.ts'
import { modelIn } from '../../vocabulary/meaning.ts'
import { readListing } from '../merged-item.ts'
import type { MarketSettings } from '../sources.ts'
import type { Bound, BoundsByGroup, PriceBounds } from './price-bounds.ts'

export type Marks = Pick<PriceBounds, 'highest' | 'outliersOf' | 'marking'>

/** As JSON, of the bounds that mark something: cursors carry them, and further ones mark nothing. */
const MAX_MARKING_BYTES = 6144

/** Marks by these bounds. */
export function marksOf(bounds: BoundsByGroup, settings: MarketSettings): Marks {
  const highest = new Map(
    Array.from(bounds, ([group, byModel]) => {
      return [group, [...byModel.values()].reduce((one, other) => (other > one ? other : one))] as const
    }),
  )
  const marking = new Map<string, Bound>()
  let room = MAX_MARKING_BYTES
  const isMarked = (group: string, model: string, bound: PriceKey): boolean => {
    const name = `${group}\n${model}`
    if (marking.has(name)) return true
    const row: Bound = [group, model, String(bound)]
    room -= Buffer.byteLength(JSON.stringify(row))
    if (room >= 0) marking.set(name, row)
    return room >= 0
  }
  return {
    highest,
    marking: () => [...marking.values()],
    outliersOf: (item, source) => {
      if (bounds.size === 0) return []
      const { byGroup } = settings.itemPrices.of(item, () => readListing(item))
      const low = [...byGroup].filter(([group, key]) => key < (highest.get(group) ?? 0))
      if (low.length === 0) return []
      const model = modelOf(item, source, settings)
      if (model === null) return []
      return low.flatMap(([group, key]) => {
        const bound = bounds.get(group)?.get(model) ?? 0
        return key < bound && isMarked(group, model, bound) ? group : []
      })
    },
  }
}

/** What these bounds mark, which a cursor has carried. */
export function outliersBelow(bounds: readonly Bound[], settings: MarketSettings): PriceBounds['outliersOf'] {
  const byGroup = new Map<string, Map<string, PriceKey>>()
  for (const [group, model, key] of bounds) {
    const byModel = byGroup.get(group) ?? new Map<string, PriceKey>()
    byGroup.set(group, byModel.set(model, toPriceKey(BigInt(key))))
  }
  return marksOf(byGroup, settings).outliersOf
}

export function modelOf(item: Item, source: string, { vocabulary }: MarketSettings): string | null {
  return modelIn(item.meaning ?? vocabulary.describe(item, () => readListing(item), source))
}
