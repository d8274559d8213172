import type { ListingStatus } from '../domain/listing.ts'
import type { PriceLimit } from '../domain/query.ts'
import type { Criterion, FilterTest } from '../filter-spec/criteria.ts'
import { type Bitset, bitset, countCommon } from './bitset.ts'
import type { Column, Posting } from './column.ts'
import type { Match } from './newest-first.ts'
import { MAX_SEGMENT_ROWS, type Segment } from './segment.ts'

export type Conditions = {
  status: ListingStatus | null
  publisherId: number | null
  criteria: readonly { column: number; criterion: Criterion }[]
  priceLimit?: PriceLimit | undefined
}

/** As `evaluate.ts` does per document. */
export function matchSegment(
  segment: Segment,
  { status, publisherId, criteria, priceLimit }: Conditions,
): Match {
  const words = segment.live.length
  const sets = criteria.map(({ column, criterion }, n) =>
    passing(segment.columns[column]!, criterion, spare(n, words)),
  )
  const { length } = sets
  if (publisherId !== null)
    sets.push(union(segment.publishers.postingsOf(new Set([publisherId])), spare(length, words)))
  if (priceLimit !== undefined) sets.push(union(segment.prices.within(priceLimit), spare(length + 1, words)))
  const slots = segment.matches
  slots.set(status === null ? segment.live : segment.liveByStatus[status])
  for (const set of sets) keepCommon(slots, set)
  return { rows: segment, slots, count: countCommon(slots, slots) }
}

/** Working sets in the nearest CPU caches, overwritten by each segment. */
const SPARES: Bitset[] = []

function spare(n: number, words: number): Bitset {
  SPARES[n] ??= bitset(MAX_SEGMENT_ROWS)
  return SPARES[n].subarray(0, words)
}

/** Fills `spare`, or returns a set that must not be written to. */
function passing(column: Column, { test, onMissing }: Criterion, spare: Bitset): Bitset {
  const { present } = column.data
  const found = passingValues(column, test, spare)
  if (onMissing === 'fail') return found
  for (let n = 0; n < spare.length; n++) spare[n] = found[n]! | ~present[n]!
  return spare
}

function passingValues(column: Column, test: FilterTest, spare: Bitset): Bitset {
  const { present } = column.data
  switch (test.op) {
    case 'in':
      return union(column.postingsOf(test.values), spare)
    case 'not_in': {
      const excluded = union(column.postingsOf(test.values), spare)
      for (let n = 0; n < spare.length; n++) spare[n] = present[n]! & ~excluded[n]!
      return spare
    }
    case 'range':
      return column.within(test.low, test.high, spare.fill(0))
    case 'exists':
      return test.wanted ? present : spare.fill(0)
  }
}

function union(postings: readonly Posting[], spare: Bitset): Bitset {
  const [first] = postings
  if (postings.length === 1 && first!.bits !== null) return first!.bits
  spare.fill(0)
  for (const posting of postings) posting.addTo(spare)
  return spare
}

/** `target ∩= other` */
function keepCommon(target: Bitset, other: Bitset): void {
  const words = target.length
  for (let n = 0; n < words; n++) target[n] = target[n]! & other[n]!
}
