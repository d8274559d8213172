import type { Row } from '../data/listing-row.ts'

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

export const MAX_MODELS = 24

/** Largest group first. Listings without a model, token or price are left out. */
export function priceGroups(rows: readonly Row[]): PriceGroup[] {
  const groups = new Map<string, { row: Row; models: Map<string, bigint[]>; count: number }>()
  for (const row of rows) {
    const { price, model } = row
    if (price === null || price.token === null || model === null) continue
    const key = JSON.stringify([price.token.toLowerCase(), price.chain, price.per])
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

const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)
