import type { ListingStatus } from '../domain/listing.ts'
import type { PriceLimit } from '../domain/query.ts'
import type { Criterion } from '../filter-spec/filter.ts'
import { testOf } from '../filter-spec/operations/operations.ts'
import { type Bitset, bitset, onesIn, removeAll } from './bitset.ts'
import type { Column } from './column.ts'
import type { Match } from './newest-first.ts'
import { MAX_SEGMENT_ROWS, type Segment } from './segment.ts'

export type Conditions = {
  status: ListingStatus | null
  publisherId: number | ReadonlySet<number> | null
  criteria: readonly { column: number; criterion: Criterion }[]
  priceLimit?: PriceLimit | undefined
  /** Of the view: applied to what is not hidden, since a hidden copy is of a listing whose best copy decides. */
  standing?: Conditions['criteria']
  /** Rows of the segment that are left out, and counted as `hidden`. */
  hiddenIn?: (segment: Segment) => readonly Bitset[]
  /** Rows of the segment that are left out before anything is counted. */
  deniedIn?: (segment: Segment) => readonly Bitset[]
}

/** As `evaluate.ts` does per document. */
export function matchSegment(
  segment: Segment,
  { status, publisherId, criteria, priceLimit, standing = [], hiddenIn, deniedIn }: Conditions,
): Match {
  const words = segment.live.length
  const sets = criteria.map(({ column, criterion }, n) =>
    passing(segment.columns[column]!, criterion, spare(n, words)),
  )
  const { length } = sets
  const publishers = typeof publisherId === 'number' ? new Set([publisherId]) : publisherId
  if (publishers !== null) sets.push(segment.publishers.having(publishers, spare(length, words)))
  if (priceLimit !== undefined) sets.push(segment.prices.within(priceLimit, spare(length + 1, words)))
  const slots = segment.matches
  const live = status === null ? segment.live : segment.liveByStatus[status]
  const without = (count: number, rowsIn: Conditions['hiddenIn']): number =>
    count === 0 ? 0 : (rowsIn?.(segment) ?? NONE).reduce((_, rows) => removeAll(slots, rows), count)
  const matched = without(intersect(slots, live, sets), deniedIn)
  const left = without(matched, hiddenIn)
  const inView = standing.map(({ column, criterion }, n) =>
    passing(segment.columns[column]!, criterion, spare(length + 2 + n, words)),
  )
  const count = left === 0 || inView.length === 0 ? left : intersect(slots, slots, inView)
  return { rows: segment, slots, count, hidden: matched - left }
}

const NONE: readonly Bitset[] = []

/** Empty working sets in the nearest CPU caches, overwritten by each segment. */
const SPARES: Bitset[] = []

function spare(n: number, words: number): Bitset {
  SPARES[n] ??= bitset(MAX_SEGMENT_ROWS)
  return SPARES[n].subarray(0, words).fill(0)
}

/** Fills `spare`, or returns a set that must not be written to. */
function passing(column: Column, { test, onMissing }: Criterion, spare: Bitset): Bitset {
  const { present } = column.data
  const slots = testOf(test).match(test, column, spare)
  if (onMissing === 'fail') return slots
  for (let n = 0; n < spare.length; n++) spare[n] = slots[n]! | ~present[n]!
  return spare
}

/** Returns the count. `target` may be `base`. Three sets a pass, since memory access dominates. */
function intersect(target: Bitset, base: Bitset, [a = base, b = base, c = base, ...rest]: Bitset[]): number {
  const words = target.length
  let count = 0
  for (let n = 0; n < words; n++) {
    const word = base[n]! & a[n]! & b[n]! & c[n]!
    target[n] = word
    if (word !== 0) count += onesIn(word)
  }
  return rest.length === 0 ? count : intersect(target, target, rest)
}
