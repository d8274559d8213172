import { type ListingIdentity, sellerKey } from '../domain/listing-identity.ts'
import { countedSizes, keyPer, type PriceKey, type SizesOf, scaleKey } from '../domain/price/price-key.ts'
import { FacetCounter } from '../domain/source/facet-counter.ts'
import { OfferCounter } from '../domain/source/offer-counts.ts'
import { comparePositions, placeOf } from '../domain/source/position.ts'
import type { Item } from '../domain/source/reading.ts'
import type { Facets, Matches, PricedItem, PriceGrouping, PriceOrder } from '../domain/source/selection.ts'
import { inTurns } from '../domain/turns.ts'
import type { Filter } from '../filter-spec/filter.ts'
import type { JsonValue } from '../json/value.ts'
import { documentOf } from './document-reader.ts'
import { groupsOf } from './price-walk.ts'
import { NO_PRICES, type RowPrices, rowPrices } from './row-prices.ts'

/** As `selectItems`, but it reads the prices in turns. */
export async function selectInTurns(items: readonly Item[], sizesOf?: SizesOf): Promise<Matches> {
  return selectItems(items, await inTurns(readAllPrices(items, sizesOf)))
}

function* readAllPrices(items: readonly Item[], sizesOf?: SizesOf): Generator<void, RowPrices[]> {
  const prices: RowPrices[] = []
  for (const item of items) {
    prices.push(readPrices(item, sizesOf))
    yield
  }
  return prices
}

/** Evaluates a list of matches in memory. `prices`: of each item. */
export function selectItems(
  items: readonly Item[],
  prices: readonly RowPrices[] = items.map((item) => readPrices(item)),
): Matches {
  const sorted = new Map<PriceOrder, readonly PricedItem[]>()
  return {
    offers: () => {
      const counter = new OfferCounter<string>()
      for (const [n, item] of items.entries())
        for (const basis of prices[n]!.bases) {
          const counted = counter.of(basis)
          counted.offers++
          if (!counted.isFull) counted.addPublisher(item.publisher ?? item.storefrontUrl ?? '')
        }
      return counter.counts
    },
    byPrice: (order, after) => {
      const all = sorted.get(order) ?? inOrder(items, prices, order)
      sorted.set(order, all)
      const behind = after === null ? 0 : all.findIndex(({ place }) => comparePositions(place, after) > 0)
      return all.values().drop(behind === -1 ? all.length : behind)
    },
    facets: (fields, per) => inTurns(countFacets(items, fields, per)),
    sellers: () => new Set(items.map(sellerOf)),
    items: () => items,
  }
}

export function sellerOf(identity: ListingIdentity): string {
  return sellerKey(identity) ?? ''
}

function* countFacets(
  items: readonly Item[],
  fields: readonly Filter[],
  prices: PriceGrouping,
): Generator<void, Facets> {
  const counter = new FacetCounter(fields, prices)
  for (const item of items) {
    counter.add(readDocument(item))
    yield
  }
  return counter.facets
}

function inOrder(
  items: readonly Item[],
  prices: readonly RowPrices[],
  { groups, per, scaleOf, max = Number.POSITIVE_INFINITY }: PriceOrder,
): PricedItem[] {
  const groupOf = groupsOf(groups)
  const priced = items.map((item, n): PricedItem => {
    let best: { group: number; key: PriceKey } = { group: groups.length, key: 0 }
    const { sizes, bases, keys } = prices[n]!
    for (const [at, basis] of bases.entries()) {
      const group = groupOf.get(basis)
      const unscaled = keyPer(per, keys[at]!, sizes)
      if (group === undefined || unscaled === null) continue
      const key = scaleKey(unscaled, scaleOf?.(basis))
      if (key > max) continue
      if (group < best.group || (group === best.group && key < best.key)) best = { group, key }
    }
    return { item, place: { ...best, ...placeOf(item) } }
  })
  return priced.sort((a, b) => comparePositions(a.place, b.place))
}

function readPrices(item: Item, sizesOf: SizesOf = countedSizes): RowPrices {
  try {
    const document = documentOf(item.bytes)
    return rowPrices(document, sizesOf(document, ''))
  } catch {
    return NO_PRICES
  }
}

/** An unreadable copy has neither prices nor values. */
function readDocument(item: Item): JsonValue {
  try {
    return documentOf(item.bytes)
  } catch {
    return {}
  }
}
