import { Emitter } from '../domain/emitter.ts'
import { LISTING_STATUSES, type ListingStatus } from '../domain/listing.ts'
import type { Filter } from '../filter-spec/filter.ts'
import { pathIn, pathKey } from '../filter-spec/path.ts'
import type { Decision } from './authority.ts'
import { bitset, forEachBit } from './bitset.ts'
import { type Copy, isSame, listingIdOf, type Row } from './copy.ts'
import { CopyMatches } from './copy-matches.ts'
import { KeyUnions } from './key-union.ts'
import { Lanes } from './lanes.ts'
import type { CopyConditions } from './match.ts'
import type { SegmentSizes } from './merge-segments.ts'
import { byAge, type First } from './newest-first.ts'
import { Ranking, type RankingOptions } from './ranking.ts'
import { decisionsOf, type IndexParts, questionOf, type RankedRow, type Scope, sellersOf } from './scope.ts'
import { comparePlaces, type RowPlace, type Segment, type SegmentData, sharedAt } from './segment.ts'
import { loadSegments, pathsOf, type SegmentPlan, STEP, segmentPlan } from './segment-builder.ts'
import { Segments } from './segments.ts'
import { type Seller, Sellers } from './sellers.ts'
import type { SourceSet } from './source-set.ts'

const USUAL_SIZES: SegmentSizes = {
  tail: 64,
  /** Its bitsets, 4 KiB each, stay in the nearest CPU caches during a query. */
  segment: 32_768,
  step: STEP,
  /** Of merges: some ms. */
  stepsPerTurn: 8,
}

/** `rows`: how many. `bytes`: of its listings as they are served. */
type SourceEntry = { name: string; isOwn: boolean; rows: number; bytes: number }

/**
 * All copies of all sources. A source is loaded under one or several numbers, its generations: a large pull is loaded beside the
 * earlier one, then read in its place (`SourceSet`), and the earlier one removed. Knows nothing of readers; rankings follow it.
 */
export class CopyIndex {
  readonly sellers = new Sellers()
  readonly #lanes = new Lanes((lane) => {
    for (const ranking of this.#rankings) ranking.laneCame(lane)
  })
  readonly #segments: Segments
  readonly #sources = new Map<number, SourceEntry>()
  /** Of all numbers ever in use, since versions only rise. */
  readonly #versions: number[] = []
  readonly #rankings = new Set<Ranking>()
  readonly #parts: IndexParts
  readonly #copyAt = ({ rows, slot }: RowPlace): Copy => {
    const row = rows.rowAt(slot)
    const { source } = this.#lanes.at(rows.laneOf(slot))
    const { publisher, aliases, storefrontUrl } = this.sellers.of(row.seller)
    return { ...row, source, listingId: listingIdOf(row.key), publisher, aliases, storefrontUrl }
  }
  readonly #changing = new Emitter<readonly string[]>()
  readonly #touched = new Emitter<readonly string[]>()

  /** Calls back before copies of these listings change, or what is known of their sellers, or what rules leave out. */
  readonly onChanging = this.#changing.listen
  /** Calls back in the turn in which they have changed, after all rankings have decided. */
  readonly onTouched = this.#touched.listen

  /** @param sizes at most `MAX_SEGMENT_ROWS`; tests use small ones */
  constructor(filters: Iterable<Filter>, sizes: SegmentSizes = USUAL_SIZES) {
    this.#segments = new Segments({
      plan: segmentPlan(pathsOf(filters), sizes.segment),
      sizes,
      sourceNameOf: (lane) => this.#sources.get(this.#lanes.at(lane).source)?.name,
      listener: {
        changing: (ids) => this.#changing.emit(ids),
        came: (row) => this.#count(row, 1),
        leaves: (row) => {
          this.#count(row, -1)
          for (const ranking of this.#rankings) ranking.forget(row)
        },
        changed: (ids, rows) => {
          for (const ranking of this.#rankings) ranking.follow(ids, rows)
          this.#touched.emit(ids)
        },
        moved: (segment, from) => {
          for (const ranking of this.#rankings) ranking.carry(segment, from)
        },
      },
    })
    this.#parts = {
      lanes: this.#lanes,
      sellers: this.sellers,
      unions: new KeyUnions(),
      segments: this.#segments,
      source: (number) => this.about(number),
      copyAt: this.#copyAt,
      version: 0,
    }
  }

  /** A new generation of the source of that name: its number, which is free again after `removeSource`. */
  addSource(name: string, isOwn = false): number {
    let number = 0
    while (this.#sources.has(number)) number++
    this.#versions[number] ??= 0
    this.#sources.set(number, { name, isOwn, rows: 0, bytes: 0 })
    return number
  }

  /** Removes its rows in steps. No row of it may be put any more. */
  *removeSource(source: number): Generator<void> {
    yield* this.#segments.removeAll(this.#lanes.ofSource(source))
    this.#lanes.forget(source)
    this.#sources.delete(source)
    this.#versions[source]!++
  }

  /** Inserts, or replaces the row of that key. @throws SyntaxError for some bytes that are not JSON, before any change */
  put(source: number, row: Row): void {
    const lane = this.#lanes.numberOf(source, row.status, row.origin)
    this.#segments.put(row, lane, this.#lanes.ofSource(source))
  }

  remove(source: number, key: string): boolean {
    return this.#segments.remove(key, this.#lanes.ofSource(source))
  }

  /** Puts rows of one source and of different keys in steps of some ms, several times as fast as one by one. */
  *load(source: number, rows: readonly Row[]): Generator<unknown, void> {
    const { plan } = this.#segments
    yield* loadSegments(
      plan,
      rows.toSorted(comparePlaces),
      (data) => this.adopt(source, data, plan),
      this.about(source).name,
    )
  }

  /** Of segments for `adopt`. Derived values are made as in listings of that source. */
  planOf(source: number): SegmentPlan {
    const { paths, rows, columns } = this.#segments.plan
    const { name } = this.about(source)
    const named = paths.map((path) => pathIn(path, name))
    return { ...segmentPlan(named, rows), columns }
  }

  /**
   * Adopts a segment of the source in steps of some ms, each of which puts some of its rows. Rows that are put meanwhile may
   * be replaced by it. @param plan that it was built with
   */
  *adopt(source: number, data: SegmentData, plan: SegmentPlan): Generator<void> {
    const lanes = Uint16Array.from(data.statuses, (status, slot) => {
      return this.#lanes.numberOf(source, LISTING_STATUSES[status]!, sharedAt(data.origins, slot))
    })
    yield* this.#segments.adopt(data, lanes, this.#lanes.ofSource(source), plan)
  }

  get(source: number, key: string): Copy | undefined {
    const row = this.#segments.find(key, this.#lanes.ofSource(source))
    return row && this.#copyAt(row)
  }

  /** Of every source, in no order. */
  copiesOf(listingId: string): readonly Copy[] {
    return this.#segments.rowsOf(listingId).map(this.#copyAt)
  }

  /** Rows of the source with that status. */
  countOf(source: number, status: ListingStatus): number {
    let count = 0
    for (const lane of this.#lanes.ofSource(source))
      if (this.#lanes.at(lane).status === status)
        for (const { countByLane } of this.#segments.all) count += countByLane.get(lane) ?? 0
    return count
  }

  /** Whether all segments that are built from now on have columns of these filters. */
  knows(filters: Iterable<Filter>): boolean {
    const known = new Set(this.#segments.plan.paths.map(pathKey))
    return pathsOf(filters).every((path) => known.has(pathKey(path)))
  }

  /** Keys of all its rows, oldest first. */
  keysOf(source: number): string[] {
    return Array.from(this.#byAge(source, 'oldest'), ({ rows, slot }) => rows.keyOf(slot))
  }

  /** Sellers with rows of the source of that name, by number. */
  *sellersIn(name: string): Generator<readonly [number: number, seller: Seller]> {
    for (const [number, seller, lanes] of this.sellers.all())
      if (lanes.some((lane) => this.about(this.#lanes.at(lane).source).name === name)) yield [number, seller]
  }

  /** Sellers with rows of that source whose address is not known. */
  *unknownSellersOf(source: number): Generator<Seller> {
    for (const lane of this.#lanes.ofSource(source)) yield* this.sellers.unknownIn(lane)
  }

  about(source: number): Readonly<SourceEntry> {
    return this.#sources.get(source)!
  }

  /** Differs whenever something of these sources has changed. */
  versionOf({ key, numbers }: SourceSet): string {
    return `${key}:${numbers.reduce((sum, source) => sum + this.#versions[source]!, 0)}`
  }

  /** All rows of the source by age. To be read in one turn. */
  *walk(source: number, first: First): Generator<Copy> {
    for (const row of this.#byAge(source, first)) yield this.#copyAt(row)
  }

  /** Ids of listings that two generations of one source do not have alike. To be read in one turn. */
  *differences(one: number, other: number): Generator<string> {
    for (const [from, to] of [
      [one, other],
      [other, one],
    ] as const)
      for (const copy of this.walk(from, 'oldest')) {
        const twin = this.get(to, copy.key)
        if (twin === undefined || (from === one && !isSame(copy, twin))) yield copy.listingId
      }
  }

  /** What is known of a seller from now on: its rows are decided again, and none is written. */
  learn(number: number, seller: Seller): void {
    if (this.sellers.isKnown(number, seller)) return
    this.#change(this.listingIdsOf(new Set([number])), (ids) => {
      this.sellers.learn(number, seller)
      for (const lane of this.sellers.lanesOf(number)) this.#versions[this.#lanes.at(lane).source]!++
      for (const ranking of this.#rankings) ranking.decideAgain(ids)
    })
  }

  /** Of all their rows, by the number of the seller. */
  listingIdsOf(sellers: ReadonlySet<number>): string[] {
    const ids = new Set<string>()
    for (const segment of this.#segments.all) {
      const slots = segment.sellers.having(sellers, bitset(segment.size))
      forEachBit(slots, (slot) => {
        if (segment.isLive(slot)) ids.add(listingIdOf(segment.keyOf(slot)))
      })
    }
    return [...ids]
  }

  /** A ranking that follows every change, in steps: to be asked after the last one, and to be ended. */
  *rank(options: RankingOptions): Generator<void, Ranking> {
    const ranking = new Ranking(this.#parts, options)
    this.#rankings.add(ranking)
    yield* ranking.decideAll()
    return ranking
  }

  end(ranking: Ranking): void {
    this.#rankings.delete(ranking)
  }

  /** After its rules changed: listings that they may concern. */
  decideAgain(ranking: Ranking, listingIds: readonly string[]): void {
    this.#change(listingIds, () => ranking.decideAgain(listingIds))
  }

  /** Differences between what the ranking has marked and a new decision, of so many listings by chance. */
  selfCheck(ranking: Ranking, count = 100): number {
    let wrong = 0
    for (let n = 0; n < count; n++) wrong += ranking.countWrong(randomId(this.#segments.all))
    return wrong
  }

  /** Builds columns of other filters in steps; until the end, filters without one read documents. */
  *replan(filters: Iterable<Filter>): Generator<void> {
    this.#segments.replan(segmentPlan(pathsOf(filters), this.#segments.plan.rows))
    yield* this.#segments.rebuild()
  }

  /**
   * All matches of a question, in one step where all segments have the columns of its filters.
   * @throws SourceError `unsupported_filter` where documents of too many rows would be read
   */
  *match(scope: Scope, conditions: CopyConditions): Generator<void, CopyMatches> {
    return new CopyMatches(yield* questionOf(this.#parts, scope, conditions))
  }

  /** What the scope shows of one id, and the copies that it hides, by the rule of `authority.ts`. */
  decisionsOf(listingId: string, scope: Scope, status: ListingStatus | null): Decision<RankedRow>[] {
    return decisionsOf(this.#parts, scope, listingId, status)
  }

  /** Other copies of a listing that the scope shows; `undefined` once it does not. */
  groupOf(
    { source, key, listingId }: Copy,
    scope: Scope,
    status: ListingStatus | null,
  ): Pick<Decision<RankedRow>, 'otherCopies' | 'isConflict'> | undefined {
    const row = this.#segments.onlyRowOf(listingId)
    const isRow = row !== undefined && this.#lanes.at(row.rows.laneOf(row.slot)).source === source
    if (isRow && row.rows.keyOf(row.slot) === key) return ALONE
    const decisions = this.decisionsOf(listingId, scope, status)
    return decisions.find(({ decider }) => decider.source === source && decider.key === key)
  }

  /** Sources with a listing of that address which exists in the scope, with its storefronts there. */
  sellersOf(address: string, scope: Scope): Map<number, Set<string | null>> {
    return sellersOf(this.#parts, scope, address)
  }

  #byAge(source: number, first: First): ReturnType<typeof byAge> {
    const lanes = new Set(this.#lanes.ofSource(source))
    return byAge(this.#segments.all, (lane) => lanes.has(lane), first)
  }

  #count({ rows, slot }: RowPlace, change: 1 | -1): void {
    const lane = rows.laneOf(slot)
    const { source } = this.#lanes.at(lane)
    const entry = this.#sources.get(source)!
    entry.rows += change
    entry.bytes += change * rows.lengthOf(slot)
    this.#versions[source]!++
    this.#parts.version++
    this.sellers.count(rows.sellerOf(slot), lane, change)
  }

  #change(listingIds: readonly string[], change: (listingIds: readonly string[]) => void): void {
    this.#changing.emit(listingIds)
    this.#parts.version++
    change(listingIds)
    this.#touched.emit(listingIds)
  }
}

const ALONE = { otherCopies: [], isConflict: false }

/** The listing of a row by chance; it may be dead. */
function randomId(segments: readonly Segment[]): string {
  let at = Math.floor(Math.random() * segments.reduce((sum, { size }) => sum + size, 0))
  for (const segment of segments) {
    if (at < segment.size) return listingIdOf(segment.keyOf(at))
    at -= segment.size
  }
  return ''
}
