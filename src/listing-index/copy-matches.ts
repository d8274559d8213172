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
  /** What a source says of its rows by a filter, by the number of the source. The columns say nothing of them then. */
  judgedBy?: ReadonlyMap<number, JudgedFilters> | undefined
  /** Only rows of these lanes, among those that are shown. */
  lanes?: ((lane: Lane) => boolean) | undefined
}

/** By the name of the filter, the sellers whose rows pass; `null`: all. */
export type JudgedFilters = ReadonlyMap<string, ReadonlySet<number> | null>

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
    const { lanes, wholeMaskOf, find } = this.#options
    const all = countsOf(lanes.size)
    for (const match of find()) {
      if (wholeMaskOf === null) countLanes(match, all)
      else addCounts(keptCounts(match, wholeMaskOf(match.rows), lanes.size), all)
    }
    const bySource = new Map<number, SourceCount>()
    for (let lane = 0; lane < lanes.size; lane++) {
      const [matched, hidden] = [all.matched[lane]!, all.hidden[lane]!]
      if (matched === 0) continue
      const { source } = lanes.at(lane)
      const before = bySource.get(source)
      if (before === undefined) bySource.set(source, { matched, hidden })
      else {
        before.matched += matched
        before.hidden += hidden
      }
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

/** Per lane. */
type LaneCounts = { matched: Uint32Array; hidden: Uint32Array }

const countsOf = (lanes: number): LaneCounts => {
  return { matched: new Uint32Array(lanes), hidden: new Uint32Array(lanes) }
}

function countLanes({ rows, slots, hidden, hiddenSlots }: Match, counts: LaneCounts): LaneCounts {
  const { lanes } = rows
  forEachBit(slots, (slot) => {
    counts.matched[lanes[slot]!]!++
  })
  if (hidden > 0)
    forEachBit(hiddenSlots!, (slot) => {
      counts.matched[lanes[slot]!]!++
      counts.hidden[lanes[slot]!]!++
    })
  return counts
}

function addCounts({ matched, hidden }: LaneCounts, all: LaneCounts): void {
  for (let lane = 0; lane < matched.length; lane++) {
    all.matched[lane]! += matched[lane]!
    all.hidden[lane]! += hidden[lane]!
  }
}

const keptByMask = new WeakMap<object, LaneCounts & { version: number }>()

/** Of a question without conditions, until a row of the segment or its mask changes. */
function keptCounts(match: Match, { shown }: Mask, lanes: number): LaneCounts {
  if (shown === null) return countLanes(match, countsOf(lanes))
  const before = keptByMask.get(shown)
  const { version } = match.rows
  if (before?.version === version) return before
  const counts = { ...countLanes(match, countsOf(lanes)), version }
  keptByMask.set(shown, counts)
  return counts
}
