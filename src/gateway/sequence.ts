import type { ListingQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Micros } from '../domain/timestamp.ts'
import type { JsonValue } from '../json/value.ts'
import { type Comparison, comparisonIn, comparisonWith, itemPrice } from './by-price/item-price.ts'
import type { ByPrice } from './by-price/price-order.ts'
import { type PricePoint, PriceSequence } from './by-price/price-sequence.ts'
import type { Deciders, OpenDeciders } from './deciders.ts'
import { MergedSequence, type ResumePoint } from './merge.ts'
import { type Described, describeItem, type MergedItem } from './merged-item.ts'
import type { Outcome } from './sources.ts'

type SequenceOptions = {
  /** `undefined`: newest first. */
  by: ByPrice | undefined
  cap: Micros
  /** A point of a sequence in the same order. */
  from?: ResumePoint | PricePoint | null
  /** Listings to begin behind, newest first, of the own Registry alone. */
  skip?: number
  openDeciders: OpenDeciders
}

/** One sequence of all sources, in the order that the reader wants. */
export function openSequence(
  sources: readonly NamedSource[],
  query: ListingQuery,
  { by, cap, from = null, skip, openDeciders }: SequenceOptions,
): MergedSequence | PriceSequence {
  return by === undefined
    ? new MergedSequence(sources, query, { cap, from: from as ResumePoint | null, skip, openDeciders })
    : new PriceSequence(sources, query, { by, from: from as PricePoint | null, openDeciders })
}

/** Whether the sum of their totals is exact; otherwise it is at most that. */
export function isExact(outcomes: readonly Outcome[], deciders: Pick<Deciders, 'mayLookUp'> | null): boolean {
  return (
    deciders?.mayLookUp !== true &&
    outcomes.every(({ result, isWhole }) => result instanceof Error || isWhole)
  )
}

/** With what they mean and cost: at the price that was compared, else at the one that leads. */
export function describeItems(
  items: readonly MergedItem[],
  sequence: MergedSequence | PriceSequence,
  { priceLimit }: ListingQuery,
  settings: Described,
): readonly MergedItem[] {
  const limit = priceLimit && comparisonWith(priceLimit)
  const comparison = sequence instanceof PriceSequence ? comparisonIn(sequence.order) : limit
  return items.map((item) => describeShown(item, comparison, settings))
}

/** @param comparison of prices; absent: the one that leads is named */
export function describeShown(
  merged: MergedItem,
  comparison: Comparison | undefined,
  settings: Described,
): MergedItem {
  if (comparison === undefined) return describeItem(merged, settings)
  const { item, registry } = merged
  const { tokens, vocabulary } = settings
  const sizesOf = (listing: JsonValue) => vocabulary.sizesOf(listing, registry)
  return describeItem(merged, settings, itemPrice(item, comparison, { tokens, sizesOf }))
}
