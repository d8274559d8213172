import type { ListingStatus } from '../domain/listing.ts'
import type { PriceLimit } from '../domain/query.ts'
import type { PriceOrder } from '../domain/source/selection.ts'
import type { Micros } from '../domain/timestamp.ts'
import type { Criterion } from '../filter-spec/filter.ts'
import { forEachBit } from './bitset.ts'
import type { Copy } from './copy.ts'
import { IndexMatches, type MatchesOptions } from './index-matches.ts'
import type { Lane, Lanes } from './lanes.ts'
import type { Mask } from './masks.ts'
import { type Match, newestFirst, olderThan } from './newest-first.ts'
import type { PriceAfter } from './price-walk.ts'
import type { Place, RowPlace, Segment } from './segment.ts'

/** AND-ed. */
export type CopyConditions = {
  /** `null`: every status. */
  status: ListingStatus | null
  criteria: readonly Criterion[]
  priceLimit?: PriceLimit | undefined
  /** As of `Sellers`, such as `numbersOf` an address; `null`: all. */
  sellers?: ReadonlySet<number> | null
  /** Names of filters by which a source has judged its rows, by its number: all of them pass. */
  judgedBy?: ReadonlyMap<number, ReadonlySet<string>> | undefined
  /** Only rows of these lanes, among those that are shown. */
  lanes?: ((lane: Lane) => boolean) | undefined
}

export type CopyPage = {
  limit: number
  offset?: number | undefined
  /** Only rows behind this place, instead of an offset: that of a copy is `placeOf`. */
  after?: Place | null | undefined
  /** Rows that are newer come last: about now. Default: none is. Microseconds. */
  cap?: Micros | undefined
}

/** Of one source: copies that match, and how many of them better copies hide. With a filter of the view, only what is shown. */
export type SourceCount = { matched: number; hidden: number }

type CopyMatchesOptions = Pick<MatchesOptions, 'unionsOf'> & {
  personOf: (seller: number) => string
  find: () => readonly Match[]
  copyAt: (row: RowPlace) => Copy
  lanes: Lanes
  /** The masks of a question without any condition but its status, whose counts are kept. */
  wholeMaskOf: ((segment: Segment) => Mask) | null
}

/** All matches of one question, which are found again after a change: what is read in one turn agrees. */
export class CopyMatches extends IndexMatches {
  readonly #options: CopyMatchesOptions

  constructor(options: CopyMatchesOptions) {
    super(options)
    this.#options = options
  }

  page({ limit, offset = 0, after = null, cap }: CopyPage): Copy[] {
    const matches = this.#options.find()
    const inOrder = after === null ? newestFirst(matches, offset, cap) : olderThan(matches, after, cap)
    return limit === 0 ? [] : [...inOrder.take(limit).map((row) => this.#options.copyAt(row))]
  }

  /** By price, then newest first; to be read in one turn. `key`: the lowest price in its group; 0 without one. */
  *copiesByPrice(order: PriceOrder, after: PriceAfter | null, cap?: Micros) {
    for (const { rows, slot, group, key } of this.byPrice(order, after, cap))
      yield { copy: this.#options.copyAt({ rows, slot }), group, key }
  }

  /** Equal ones are one seller. */
  sellers(): Set<string> {
    return new Set(this.publisherIds().map((seller) => this.#options.personOf(seller)))
  }

  /** In no order; all as of the first. */
  *copies(): Generator<Copy> {
    for (const { rows, slots } of this.#options.find())
      for (const slot of slotsIn(slots)) yield this.#options.copyAt({ rows, slot })
  }

  /** By number of source; none without a match. */
  bySource(): Map<number, SourceCount> {
    const { lanes, wholeMaskOf } = this.#options
    const bySource = new Map<number, SourceCount>()
    const add = (lane: number, matched: number, hidden: number): void => {
      const { source } = lanes.at(lane)
      const before = bySource.get(source) ?? { matched: 0, hidden: 0 }
      bySource.set(source, { matched: before.matched + matched, hidden: before.hidden + hidden })
    }
    for (const match of this.#options.find()) {
      const counts = wholeMaskOf === null ? countLanes(match) : keptCounts(match, wholeMaskOf(match.rows))
      for (const [lane, { matched, hidden }] of counts) add(lane, matched, hidden)
    }
    return bySource
  }
}

/** Where a copy is in the order of pages. `name`: of its source. */
export const placeOf = ({ position, key }: Copy, name: string): Place => {
  return { createdAt: position, listingId: key, source: name }
}

function slotsIn(slots: Match['slots']): number[] {
  const all: number[] = []
  forEachBit(slots, (slot) => all.push(slot))
  return all
}

function countLanes({ rows, slots, hidden, hiddenSlots }: Match): Map<number, SourceCount> {
  const counts = new Map<number, SourceCount>()
  const { lanes } = rows
  const count = (set: Match['slots'], hides: 0 | 1): void => {
    const byLane = new Uint32Array(Math.max(...rows.lanesInUse) + 1)
    forEachBit(set, (slot) => byLane[lanes[slot]!]!++)
    for (const [lane, matched] of byLane.entries())
      if (matched > 0) {
        const before = counts.get(lane) ?? { matched: 0, hidden: 0 }
        counts.set(lane, { matched: before.matched + matched, hidden: before.hidden + hides * matched })
      }
  }
  count(slots, 0)
  if (hidden > 0 && hiddenSlots !== undefined) count(hiddenSlots, 1)
  return counts
}

type Kept = { version: number; counts: Map<number, SourceCount> }

const keptByMask = new WeakMap<object, Kept>()

/** Of a question without conditions, until a row of the segment or its mask changes. */
function keptCounts(match: Match, { shown }: Mask): Map<number, SourceCount> {
  if (shown === null) return countLanes(match)
  const before = keptByMask.get(shown)
  const { version } = match.rows
  if (before?.version === version) return before.counts
  const counts = countLanes(match)
  keptByMask.set(shown, { version, counts })
  return counts
}
