import { comparePriceKeys } from '../domain/price/price-key.ts'
import { FacetCounter } from '../domain/source/facet-counter.ts'
import { FULL_RANGE, type Item, type Source } from '../domain/source/reading.ts'
import type { Matches, PricedItem, PriceOrder, PricePlace, Select } from '../domain/source/selection.ts'
import { parseJson } from '../json/value.ts'
import { groupsOf, placeIn, type RowPrices, rowPrices } from './row-prices.ts'

/** Reads a source whole. */
export function selectAll(read: Source): Select {
  return async (query, signal) => {
    const { listings, hasMore: _, ...info } = await read(query, FULL_RANGE, signal)
    return { ...info, ...selectItems(listings) }
  }
}

/** Evaluates a list of matches, newest first, in memory. */
export function selectItems(items: readonly Item[]): Matches {
  const known = new Map<Item, RowPrices>()
  const pricesOf = (item: Item): RowPrices => {
    const prices = known.get(item) ?? rowPrices(readableBytes(item))
    known.set(item, prices)
    return prices
  }
  let byId: Map<string, Item[]> | null = null
  return {
    offers: () => {
      const counts = new Map<string, number>()
      for (const item of items)
        for (const { basis } of pricesOf(item).prices) counts.set(basis, (counts.get(basis) ?? 0) + 1)
      return counts
    },
    byPrice: (order, after, count) => pageByPrice(items, pricesOf, order, after, count),
    facets: (fields, per) => {
      const counter = new FacetCounter(fields, per)
      for (const item of items) counter.add(parseJson(Buffer.from(readableBytes(item)).toString()))
      return counter.facets
    },
    ids: () => items.map(({ listingId }) => listingId),
    find: (listingId) => {
      byId ??= Map.groupBy(items, (item) => item.listingId)
      return byId.get(listingId) ?? []
    },
  }
}

export function comparePricePlaces(a: PricePlace, b: PricePlace): number {
  return (
    a.group - b.group ||
    comparePriceKeys(a.key, b.key) ||
    b.position - a.position ||
    (a.listingId < b.listingId ? -1 : a.listingId > b.listingId ? 1 : 0)
  )
}

function pageByPrice(
  items: readonly Item[],
  pricesOf: (item: Item) => RowPrices,
  order: PriceOrder,
  after: PricePlace | null,
  count: number,
): { listings: readonly PricedItem[]; hasMore: boolean } {
  const by = { per: order.per, groups: order.groups.length, groupOf: groupsOf(order) }
  const behind: PricedItem[] = []
  for (const item of items) {
    const { position, listingId } = item
    const place = { ...placeIn(pricesOf(item), by), position, listingId }
    if (after === null || comparePricePlaces(place, after) > 0) behind.push({ item, place })
  }
  behind.sort((a, b) => comparePricePlaces(a.place, b.place))
  return { listings: behind.slice(0, count), hasMore: behind.length > count }
}

const EMPTY = Buffer.from('{}')

/** An unreadable copy has neither prices nor values. */
function readableBytes(item: Item): Uint8Array {
  try {
    return item.bytes
  } catch {
    return EMPTY
  }
}
