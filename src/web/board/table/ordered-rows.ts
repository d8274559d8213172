import type { Price } from '../../../domain/price.ts'
import type { Row } from '../data/listing-row.ts'

export const ORDERS = ['newest', 'price'] as const
export type Order = (typeof ORDERS)[number]

/** Cheapest first, by token, chain and unit: only such prices compare. Frequent groups come first. */
export function orderedRows(rows: readonly Row[], order: Order): readonly Row[] {
  if (order === 'newest') return rows
  const kinds = new Map<string, number>()
  for (const { price } of rows)
    if (price !== null) kinds.set(kindOf(price), (kinds.get(kindOf(price)) ?? 0) + 1)
  const ranks = [...kinds].sort(([, a], [, b]) => b - a).map(([kind], rank): [string, number] => [kind, rank])
  const rankOf = new Map(ranks)
  const keyed = rows.map((row) => ({
    row,
    rank: row.price === null ? Infinity : rankOf.get(kindOf(row.price))!,
  }))
  return keyed
    .sort((a, b) => (a.rank === b.rank ? compare(a.row.price, b.row.price) : a.rank - b.rank))
    .map(({ row }) => row)
}

const kindOf = ({ token, chain, per }: Price): string => JSON.stringify([token?.toLowerCase(), chain, per])

function compare(a: Price | null, b: Price | null): number {
  if (a === null || b === null || a.value === b.value) return 0
  return a.value < b.value ? -1 : 1
}
