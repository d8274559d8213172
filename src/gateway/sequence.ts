import type { ListingQuery } from '../domain/query.ts'
import type { Reader } from '../domain/reader.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import type { Micros } from '../domain/timestamp.ts'
import { comparisonIn, comparisonWith } from './by-price/item-price.ts'
import type { PriceBounds } from './by-price/price-bounds.ts'
import type { ByPrice } from './by-price/price-order.ts'
import { type PricePoint, PriceSequence } from './by-price/price-sequence.ts'
import type { OpenDeciders } from './deciders.ts'
import { MergedSequence, type ResumePoint } from './merge.ts'
import { type Described, describeItem, type MergedItem } from './merged-item.ts'
import type { MergeSettings } from './sources.ts'

type SequenceOptions = {
  /** `undefined`: newest first. */
  by: ByPrice | undefined
  cap: Micros
  /** A point of a sequence in the same order. */
  from?: ResumePoint | PricePoint | null
  /** Listings to begin behind, newest first, of the own Registry alone. */
  skip?: number
  openDeciders: OpenDeciders
  reader: Reader
  settings: MergeSettings
}

/** One sequence of all sources, in the order that the reader wants. */
export function openSequence(
  sources: readonly NamedSource[],
  query: ListingQuery,
  { by, cap, from = null, skip, openDeciders, reader, settings }: SequenceOptions,
): MergedSequence | PriceSequence {
  return by === undefined
    ? new MergedSequence(sources, query, { cap, from: from as ResumePoint | null, skip, openDeciders })
    : new PriceSequence(sources, query, {
        by,
        from: from as PricePoint | null,
        openDeciders,
        reader,
        settings,
      })
}

/** That mark what the sequence has. */
export const boundsFor = async (
  sequence: MergedSequence | PriceSequence,
  settings: MergeSettings,
  reader: Reader,
): Promise<PriceBounds> => (sequence instanceof PriceSequence && sequence.bounds) || settings.boundsOf(reader)

/** With what they mean and cost: at the price that was compared, else at the one that leads. */
export function describeItems(
  items: readonly MergedItem[],
  sequence: MergedSequence | PriceSequence,
  { priceLimit, via }: ListingQuery,
  settings: Described,
): readonly MergedItem[] {
  const limit = priceLimit && comparisonWith(priceLimit)
  const comparison = sequence instanceof PriceSequence ? comparisonIn(sequence.order) : limit
  return items.map((item) => describeItem(item, { ...settings, via }, comparison))
}
