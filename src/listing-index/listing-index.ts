import { LISTING_STATUSES, type ListingStatus } from '../domain/listing.ts'
import type { HiddenRows, PriceLimit, StandingFilter } from '../domain/query.ts'
import type { Criterion, Filter } from '../filter-spec/filter.ts'
import { pathKey } from '../filter-spec/path.ts'
import { type Bitset, bitset, setBit } from './bitset.ts'
import { IndexMatches } from './index-matches.ts'
import { SharedUnions } from './key-union.ts'
import { type Conditions, matchSegment } from './match.ts'
import type { SegmentSizes } from './merge-segments.ts'
import { type Match, newestFirst, olderThan } from './newest-first.ts'
import { comparePlaces, type IndexEntry, type Place, Segment, type SegmentData } from './segment.ts'
import { loadSegments, pathsOf, type SegmentPlan, STEP, segmentPlan } from './segment-builder.ts'
import { Segments } from './segments.ts'
import { IN_TAIL } from './tail.ts'

export type { IndexEntry } from './segment.ts'

/** `bytes` is a view that stays valid; do not write to it. */
export type IndexRow = Readonly<IndexEntry>

/** AND-ed. */
export type IndexConditions = {
  /** `null`: every status. */
  status: ListingStatus | null
  /** One, or any of several; `null`: every publisher. */
  publisherId: number | ReadonlySet<number> | null
  criteria: readonly Criterion[]
  priceLimit?: PriceLimit | undefined
  /** Criteria of the view, which hidden rows need not match. */
  standing?: StandingFilter | undefined
  /** Rows that are left out, by their ids in this index. */
  hidden?: readonly HiddenRows[] | undefined
  /** Rows that are left out and counted nowhere. */
  denied?: readonly HiddenRows[] | undefined
}

export type IndexQuery = IndexConditions & {
  limit: number
  offset?: number | undefined
  /** Only older rows, instead of an offset. */
  after?: Place | null | undefined
}

type IndexPage = {
  total: number
  /** Rows that match and are left out. */
  hidden: number
  /** Newest first, then by `listing_id`. */
  rows: IndexRow[]
}

/** Its bitsets, 4 KiB each, stay in the nearest CPU caches during a query. */
const SEGMENT_ROWS = 32_768
const TAIL_ROWS = 64
const EVERYTHING: IndexConditions = { status: null, publisherId: null, criteria: [] }
/** Rows of `entries` that are looked up at once. */
const PAGE = 512
/** Of merges: some ms. */
const STEPS_PER_TURN = 8

/** Filters by bit operations over segments. */
export class ListingIndex {
  /** Increases with every change. */
  version = 0
  /** Of segments for `adopt`. */
  readonly plan: SegmentPlan
  readonly #segments: Segments
  readonly #hiddenSlots = new WeakMap<
    HiddenRows,
    { slots: ReadonlyMap<Segment, Bitset>; version: number; ofIndex: number }
  >()
  readonly #unions = new SharedUnions()

  /**
   * @param filters criteria must use their paths
   * @param sizes at most `MAX_SEGMENT_ROWS`; tests use small ones
   */
  constructor(
    filters: Iterable<Filter>,
    sizes: SegmentSizes = {
      tail: TAIL_ROWS,
      segment: SEGMENT_ROWS,
      step: STEP,
      stepsPerTurn: STEPS_PER_TURN,
    },
  ) {
    this.plan = segmentPlan(pathsOf(filters), sizes.segment)
    this.#segments = new Segments({
      plan: this.plan,
      sizes,
      sourceNameOf: () => undefined,
      listingIdOf: (key) => key,
      listener: { changing: ignore, came: ignore, leaves: ignore, changed: ignore, moved: ignore },
    })
  }

  /** Inserts valid JSON, or replaces by id. @throws SyntaxError for some other bytes, before any change */
  put(entry: IndexEntry): void {
    this.#segments.put(entry, 0, LANE)
    this.version++
  }

  /** Adopts a segment in steps of some ms. Do not use the index before the last. */
  *adopt(segment: SegmentData): Generator<void> {
    yield* this.#segments.adopt(segment, new Uint16Array(segment.listingIds.length), LANE)
    this.version++
  }

  /** Puts listings of different ids in steps of some ms, several times as fast as one by one. */
  *load(entries: readonly IndexEntry[]): Generator<unknown, void> {
    yield* loadSegments(this.plan, entries.toSorted(comparePlaces), (segment) => this.adopt(segment))
  }

  remove(listingId: string): boolean {
    const isRemoved = this.#segments.remove(listingId, LANE)
    if (isRemoved) this.version++
    return isRemoved
  }

  get(listingId: string): IndexRow | undefined {
    const row = this.#segments.find(listingId, LANE)
    return row?.rows.entry(row.slot)
  }

  /** @throws Error for a criterion whose path the index lacks */
  query(asked: IndexQuery): IndexPage {
    const { limit, offset = 0, after = null } = asked
    const matches = this.#match(this.#conditions(asked))
    const total = sumOf(matches, ({ count }) => count)
    const hidden = sumOf(matches, (match) => match.hidden)
    const inOrder = after === null ? newestFirst(matches, offset) : olderThan(matches, after)
    const page: IndexRow[] = []
    if (limit > 0)
      for (const { rows, slot } of inOrder) {
        page.push(rows.entry(slot))
        if (page.length === limit) break
      }
    return { total, hidden, rows: page }
  }

  /** For answers by price and facets. @throws Error for a criterion whose path the index lacks */
  matches(query: IndexConditions): IndexMatches {
    const { hidden = [], denied = [] } = query
    const conditions = this.#conditions(query)
    let version = -1
    let matches: Match[] = []
    const find = (): Match[] => {
      // Each of them only rises.
      const now = [...hidden, ...denied].reduce((sum, rows) => sum + rows.version, this.version)
      if (version === now) return matches
      matches = this.#match(conditions).map((match) => ({ ...match, slots: match.slots.slice() }))
      version = now
      return matches
    }
    return new IndexMatches({
      find,
      unionsOf: (prices) => this.#unions.of(prices, this.#segments.all, this.plan.rows),
    })
  }

  /** Newest first. Despite changes, untouched rows come once, and none that keeps its place comes twice. */
  *entries(conditions: IndexConditions = EVERYTHING): Generator<IndexRow> {
    for (let after: Place | null | undefined = null; after !== undefined; ) {
      const { rows } = this.query({ ...conditions, limit: PAGE, after })
      yield* rows
      after = rows.at(-1)
    }
  }

  entriesOf(publisherId: number): Generator<IndexRow> {
    return this.entries({ ...EVERYTHING, publisherId })
  }

  /** `null`: every status. */
  count(status: ListingStatus | null): number {
    const statuses = status === null ? LISTING_STATUSES : [status]
    let count = 0
    for (const { counts } of this.#segments.all) for (const one of statuses) count += counts[one]
    return count
  }

  get size(): number {
    return this.#segments.size
  }

  /** In no order. */
  get ids(): Iterable<string> {
    return this.#segments.ids
  }

  /** Valid until the next call. */
  #match(conditions: Conditions): Match[] {
    return this.#segments.all
      .map((segment) => matchSegment(segment, conditions))
      .filter(({ count, hidden }) => count > 0 || hidden > 0)
  }

  #conditions(asked: IndexConditions): Conditions {
    const { status, publisherId, criteria, priceLimit, standing, hidden, denied } = asked
    const inColumns = (all: readonly Criterion[]) => {
      for (const { filter } of all)
        if (!this.plan.columns.has(pathKey(filter.compiled)))
          throw new Error(`filter '${filter.name}' is not in the index's vocabulary`)
      return all
    }
    return {
      status,
      publisherId,
      criteria: inColumns(criteria),
      priceLimit,
      ...(standing?.criteria.length && { standing: inColumns(standing.criteria) }),
      ...(hidden?.length && { hiddenIn: this.#rowsIn(hidden) }),
      ...(denied?.length && { deniedIn: this.#rowsIn(denied) }),
    }
  }

  #rowsIn(all: readonly HiddenRows[]): (segment: Segment) => readonly Bitset[] {
    return (segment) => all.flatMap((rows) => this.#slotsOf(rows).get(segment) ?? [])
  }

  #slotsOf(hidden: HiddenRows): ReadonlyMap<Segment, Bitset> {
    const before = this.#hiddenSlots.get(hidden)
    if (before?.version === hidden.version && before.ofIndex === this.version) return before.slots
    const slots = this.#slotsIn(hidden.keys)
    this.#hiddenSlots.set(hidden, { slots, version: hidden.version, ofIndex: this.version })
    return slots
  }

  #slotsIn(keys: ReadonlySet<string>): ReadonlyMap<Segment, Bitset> {
    const slotsOf = new Map<Segment, Bitset>()
    const all = this.#segments.all
    const add = (segment: Segment, slot: number): void => {
      const slots = slotsOf.get(segment) ?? bitset(segment.size)
      setBit(slots, slot)
      slotsOf.set(segment, slots)
    }
    for (const key of keys) {
      const row = this.#segments.find(key, LANE)
      if (row?.rows instanceof Segment) add(row.rows, row.slot)
    }
    for (const segment of all)
      if (segment.number === IN_TAIL)
        for (let slot = 0; slot < segment.size; slot++) if (keys.has(segment.keyOf(slot))) add(segment, slot)
    return slotsOf
  }
}

/** All rows are of one source. */
const LANE = [0]
const ignore = (): void => {}

function sumOf(matches: readonly Match[], of: (match: Match) => number): number {
  return matches.reduce((sum, match) => sum + of(match), 0)
}
