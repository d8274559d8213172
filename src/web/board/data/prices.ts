import type { Price } from '../../../domain/price.ts'
import type { ListingRow } from './listing-row.ts'

export const ORDERS = ['newest', 'price'] as const
export type Order = (typeof ORDERS)[number]

/** Cheapest first within each token, chain and unit. The most frequent of these come first, listings without a price last. */
export function orderedRows(rows: readonly ListingRow[], order: Order): readonly ListingRow[] {
  if (order === 'newest') return rows
  const counts = new Map<string, number>()
  for (const { price } of rows)
    if (price !== null) counts.set(unitOf(price), (counts.get(unitOf(price)) ?? 0) + 1)
  const units = [...counts].sort(([, a], [, b]) => b - a).map(([unit]) => unit)
  const rankOf = new Map(units.map((unit, rank) => [unit, rank]))
  return rows
    .map((row) => ({ row, rank: row.price === null ? Infinity : rankOf.get(unitOf(row.price))! }))
    .sort((a, b) =>
      a.rank === b.rank ? ascending(a.row.price?.value ?? 0n, b.row.price?.value ?? 0n) : a.rank - b.rank,
    )
    .map(({ row }) => row)
}

/** Comparable prices: one token, chain and unit. */
export type PriceGroup = {
  key: string
  token: string
  chain: string | null
  per: string
  models: readonly ModelPrices[]
  count: number
}

type ModelPrices = {
  model: string
  /** Base units, ascending; doubles are exact enough to draw. */
  prices: readonly number[]
  lowest: bigint
  median: bigint
  highest: bigint
}

/** Largest group first. Listings without a model, token or price are left out. */
export function priceGroups(rows: readonly ListingRow[]): PriceGroup[] {
  const groups = new Map<string, { row: ListingRow; models: Map<string, bigint[]>; count: number }>()
  for (const row of rows) {
    const { price, model } = row
    if (price === null || price.token === null || model === null) continue
    const key = unitOf(price)
    const group = groups.get(key) ?? { row, models: new Map(), count: 0 }
    groups.set(key, group)
    group.count++
    const prices = group.models.get(model)
    if (prices === undefined) group.models.set(model, [price.value])
    else prices.push(price.value)
  }
  return [...groups]
    .map(([key, { row, models, count }]) => ({
      key,
      token: row.price?.token ?? '',
      chain: row.price?.chain ?? null,
      per: row.price?.per ?? '',
      models: [...models].map(modelPrices).sort((a, b) => ascending(a.median, b.median)),
      count,
    }))
    .sort((a, b) => b.count - a.count)
}

function modelPrices([model, values]: [string, bigint[]]): ModelPrices {
  const sorted = values.toSorted(ascending)
  return {
    model,
    prices: sorted.map(Number),
    lowest: sorted[0]!,
    median: sorted[Math.floor((sorted.length - 1) / 2)]!,
    highest: sorted.at(-1)!,
  }
}

const unitOf = ({ token, chain, per }: Price): string => JSON.stringify([token?.toLowerCase(), chain, per])

const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)
