import { textAt } from '../domain/json-at.ts'
import { priceOf } from '../domain/price.ts'
import { parseTimestamp } from '../domain/timestamp.ts'
import { type Row, readRow } from './row.ts'

export type PolicyName = 'cheapest' | 'newest' | 'registry-order'

export const BUILT_IN_POLICIES: Readonly<Record<PolicyName, (rows: readonly Row[]) => Row[]>> = {
  /** In base units, across tokens. Missing prices and 0 come last, as in the deployed protocol. */
  cheapest: (rows) => sortedBy(rows, priceRank, compare),
  newest: (rows) => sortedBy(rows, createdAt, (a, b) => b - a),
  /** Newest first within a Registry. */
  'registry-order': (rows) => [...Map.groupBy(rows, registryOf).values()].flat(),
}

const sortedBy = <Key>(
  rows: readonly Row[],
  keyOf: (row: Row) => Key,
  order: (a: Key, b: Key) => number,
): Row[] =>
  rows
    .map((row) => ({ row, key: keyOf(row) }))
    .sort((a, b) => order(a.key, b.key))
    .map(({ row }) => row)

function priceRank(row: Row): bigint | null {
  const price = priceOf(readRow(row))
  return price === null || price.value === 0n ? null : price.value
}

function compare(a: bigint | null, b: bigint | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  return a < b ? -1 : a > b ? 1 : 0
}

const createdAt = (row: Row): number => parseTimestamp(textAt(readRow(row), 'created_at') ?? '') ?? 0

const registryOf = (row: Row): string | null => textAt(readRow(row), '_meta', 'registry')
