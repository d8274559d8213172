import { comparePriceKeys, type PriceKey, type PricePer } from '../domain/price/price-key.ts'
import { FacetCounter } from '../domain/source/facet-counter.ts'
import { FULL_RANGE, type Item, type Source } from '../domain/source/reading.ts'
import type {
  Facets,
  Matches,
  PricedItem,
  PriceOrder,
  PricePlace,
  Select,
} from '../domain/source/selection.ts'
import { inTurns } from '../domain/turns.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { type JsonValue, parseJson } from '../json/value.ts'
import { groupsOf } from './price-walk.ts'
import { keyFor, NO_PRICES, type RowPrices } from './row-prices.ts'
import { RowReader } from './scan/row-reader.ts'

/** Reads a source whole. */
export function selectAll(read: Source): Select {
  return async (query, signal) => {
    const { listings, hasMore: _, ...info } = await read(query, FULL_RANGE, signal)
    return { ...info, ...(await selectInTurns(listings)) }
  }
}

/** As `selectItems`, which then knows all prices. */
export async function selectInTurns(items: readonly Item[]): Promise<Matches> {
  await inTurns(readAllPrices(items))
  return selectItems(items)
}

function* readAllPrices(items: readonly Item[]): Generator<void, void> {
  for (const item of items) {
    pricesOf(item)
    yield
  }
}

/** Evaluates a list of matches in memory. */
export function selectItems(items: readonly Item[]): Matches {
  let byId: Map<string, Item[]> | null = null
  const sorted = new Map<PriceOrder, readonly PricedItem[]>()
  return {
    offers: () => {
      const counts = new Map<string, number>()
      for (const item of items)
        for (const basis of pricesOf(item).bases) counts.set(basis, (counts.get(basis) ?? 0) + 1)
      return counts
    },
    byPrice: (order, after) => {
      const all = sorted.get(order) ?? inOrder(items, order)
      sorted.set(order, all)
      const behind = after === null ? 0 : all.findIndex(({ place }) => comparePricePlaces(place, after) > 0)
      return all.values().drop(behind === -1 ? all.length : behind)
    },
    facets: (fields, per) => inTurns(countFacets(items, fields, per)),
    ids: () => items.map(({ listingId }) => listingId),
    find: (listingId) => {
      byId ??= Map.groupBy(items, (item) => item.listingId)
      return byId.get(listingId) ?? []
    },
  }
}

function* countFacets(
  items: readonly Item[],
  fields: readonly Filter[],
  per: PricePer,
): Generator<void, Facets> {
  const counter = new FacetCounter(fields, per)
  for (const item of items) {
    counter.add(documentOf(item))
    yield
  }
  return counter.facets
}

export function comparePricePlaces(a: PricePlace, b: PricePlace): number {
  return (
    a.group - b.group ||
    comparePriceKeys(a.key, b.key) ||
    b.position - a.position ||
    (a.listingId < b.listingId ? -1 : a.listingId > b.listingId ? 1 : 0)
  )
}

function inOrder(
  items: readonly Item[],
  { groups, per, max = Number.POSITIVE_INFINITY }: PriceOrder,
): PricedItem[] {
  const groupOf = groupsOf(groups)
  const priced = items.map((item): PricedItem => {
    const { position, listingId } = item
    let best: { group: number; key: PriceKey } = { group: groups.length, key: 0 }
    const { gpus, bases, keys } = pricesOf(item)
    for (const [n, basis] of bases.entries()) {
      const group = groupOf.get(basis)
      const key = keyFor(per, keys[n]!, gpus)
      if (group === undefined || key === null || key > max) continue
      if (group < best.group || (group === best.group && key < best.key)) best = { group, key }
    }
    return { item, place: { ...best, position, listingId } }
  })
  return priced.sort((a, b) => comparePricePlaces(a.place, b.place))
}

const READER = new RowReader([], { withPrices: true })
/** Of listings that are kept, such as those of a cached run, for the next question. */
const KNOWN = new WeakMap<Item, RowPrices>()

function pricesOf(item: Item): RowPrices {
  const known = KNOWN.get(item)
  if (known !== undefined) return known
  const prices = readPrices(item)
  KNOWN.set(item, prices)
  return prices
}

function readPrices(item: Item): RowPrices {
  try {
    return READER.read(item.bytes).prices
  } catch {
    return NO_PRICES
  }
}

/** An unreadable copy has neither prices nor values. */
function documentOf(item: Item): JsonValue {
  try {
    return parseJson(Buffer.from(item.bytes).toString())
  } catch {
    return {}
  }
}
