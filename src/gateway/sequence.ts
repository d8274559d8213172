import type { TokenTable } from '../domain/price/token.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Micros } from '../domain/timestamp.ts'
import { comparisonIn, comparisonWith, itemPrice } from './by-price/item-price.ts'
import type { ByPrice } from './by-price/price-order.ts'
import { type PricePoint, PriceSequence } from './by-price/price-sequence.ts'
import { MergedSequence, type ResumePoint } from './merge.ts'
import type { MergedItem } from './merged-item.ts'

type SequenceOptions = {
  /** `undefined`: newest first. */
  by: ByPrice | undefined
  cap: Micros
  /** A point of a sequence in the same order. */
  from?: ResumePoint | PricePoint | null
}

/** One sequence of all sources, in the order that the reader wants. */
export function openSequence(
  sources: readonly NamedSource[],
  query: ListingQuery,
  { by, cap, from = null }: SequenceOptions,
): MergedSequence | PriceSequence {
  return by === undefined
    ? new MergedSequence(sources, query, { cap, from: from as ResumePoint | null })
    : new PriceSequence(sources, query, { by, cap, from: from as PricePoint | null })
}

/** Distinct matches, as far as they are known without reading. */
export async function countTotal(
  sequence: MergedSequence | PriceSequence,
  caller: AbortSignal,
): Promise<number> {
  return sequence instanceof PriceSequence ? sequence.countTotal(caller) : sequence.total
}

/** With the prices that were compared. */
export function withPrices(
  items: readonly MergedItem[],
  sequence: MergedSequence | PriceSequence,
  { priceLimit }: ListingQuery,
  tokens: TokenTable,
): readonly MergedItem[] {
  if (sequence instanceof MergedSequence && priceLimit === undefined) return items
  const comparison =
    sequence instanceof PriceSequence ? comparisonIn(sequence.order) : comparisonWith(priceLimit!)
  return items.map((item) => ({ ...item, price: itemPrice(item.bytes, comparison, tokens) }))
}
