import type { ListingIdentity } from '../domain/listing-identity.ts'
import { competes, type Decision, decide, type RankedCopy } from './authority.ts'
import { bitset, clearBit, hasBit, setBit } from './bitset.ts'
import type { Copy } from './copy.ts'
import { LaneSets } from './lane-sets.ts'
import type { Lane, Lanes } from './lanes.ts'
import { type Marks, type Mask, Masks, type Selected } from './masks.ts'
import type { RowPlace, Rows, Segment } from './segment.ts'
import { STEP } from './segment-builder.ts'
import type { Segments } from './segments.ts'
import type { Sellers } from './sellers.ts'

export type RankingOptions = {
  /** Names of sources, the best first. Others do not exist. */
  names: readonly string[]
  /** Which copies of one id are one listing: those of one seller, or all, for readers of the signed line. */
  groupBy: 'listing' | 'id'
  /** Whether the operator leaves the copy out, for every reader. Asked for each row that comes, and where `decideAgain` says. */
  isOut?: (copy: Copy) => boolean
}

/** What a ranking reads of an index. */
export type RankedRows = {
  lanes: Lanes
  segments: Segments
  sellers: Sellers
  source: (number: number) => { name: string; isOwn: boolean }
  copyAt: (row: RowPlace) => Copy
}

/** A copy as the rule of authority sees it. */
export type Contender = RankedCopy & { row: RowPlace; lane: number; key: string }

/**
 * Whose word counts, by the rule of `authority.ts`: each row has one number, which better sources have the listing. It is
 * decided in the turn in which a copy of the listing changes, so what any selection of sources shows follows by bits.
 */
export class Ranking {
  readonly groupBy: RankingOptions['groupBy']
  /** Of sources, by name; 0 is the best. */
  readonly ranks: ReadonlyMap<string, number>
  /** Raised with every change of what it leaves out. */
  version = 0
  readonly #rows: RankedRows
  readonly #isOut: RankingOptions['isOut']
  readonly #marks = new WeakMap<Rows, Marks>()
  readonly #sets = new LaneSets((set) => this.#masks.setCame(set))
  readonly #masks: Masks
  /** Rows that are left out. */
  #outs = 0

  /** To be made by `CopyIndex.rank`. */
  constructor(rows: RankedRows, { names, groupBy, isOut }: RankingOptions) {
    this.#rows = rows
    this.groupBy = groupBy
    this.#isOut = isOut
    this.ranks = new Map(names.map((name, rank) => [name, rank]))
    const { lanes } = rows
    this.#masks = new Masks({
      lanes,
      sets: this.#sets,
      exists: (lane, selected) => this.#exists(lane, selected),
      hides: ({ source, status }, selected) =>
        competes({ status, isOwn: rows.source(source).isOwn }, selected.status),
    })
  }

  laneCame(lane: number): void {
    this.#masks.laneCame(lane)
  }

  /** 0 is the best; `null`: such a source does not exist here. */
  rankOf(source: number): number | null {
    return this.ranks.get(this.#rows.source(source).name) ?? null
  }

  /** Which rows of the segment are shown, and which are hidden by better copies. Cached. */
  maskOf(segment: Segment, selected: Selected): Mask {
    return this.#masks.of(segment, this.#marksIn(segment), selected)
  }

  /** All decisions about one id, among the copies that exist for that question. */
  decisionsOf(
    listingId: string,
    selected: Selected,
    matches: (copy: Contender) => boolean = () => true,
  ): Decision<Contender>[] {
    const copies = this.#contenders(this.#rows.segments.rowsOf(listingId)).filter(({ lane }) =>
      this.#masks.exists(lane, selected),
    )
    return decide(copies, { status: selected.status, matches })
  }

  /** Whether rows of the lane exist for that question, but for those that are left out. */
  has(lane: number, selected: Selected): boolean {
    return this.#masks.exists(lane, selected)
  }

  /** Whether rows are left out. */
  get leavesOut(): boolean {
    return this.#outs > 0
  }

  /** Of all rows that are there already, in steps: before its first question. */
  *decideAll(): Generator<void> {
    const { segments } = this.#rows
    const [listingIds, step] =
      this.#isOut === undefined
        ? [segments.listingIds({ areShared: true }), STEP]
        : [segments.listingIds(), OUTS_PER_STEP]
    let decided = 0
    for (const listingId of listingIds) {
      this.#decideAgain(listingId)
      if (++decided % step === 0) yield
    }
  }

  /** After changes of rows, or of what is known of their sellers. `came`: rows that are new. */
  follow(listingIds: readonly string[], came: readonly RowPlace[]): void {
    if (this.#isOut !== undefined) for (const row of came) this.#setOut(row)
    for (const listingId of listingIds) this.#decide(listingId)
  }

  /** After changes of the rules. */
  decideAgain(listingIds: Iterable<string>): void {
    this.version++
    for (const listingId of listingIds) this.#decideAgain(listingId)
  }

  /** The row goes. */
  forget(row: RowPlace): void {
    if (!this.#marks.has(row.rows)) return
    this.#setUnder(row, 0)
    this.#mark(row, false)
  }

  /** The segment has the rows of `from`. */
  carry(segment: Segment, from: readonly RowPlace[]): void {
    for (const [slot, row] of from.entries()) {
      const marks = this.#marks.get(row.rows)
      if (marks === undefined) continue
      const under = marks.under[row.slot]!
      const isOut = hasBit(marks.out, row.slot)
      if (under === 0 && !isOut) continue
      const to = this.#marksFor(segment)
      to.under[slot] = under
      if (under !== 0) to.unders++
      if (isOut) {
        setBit(to.out, slot)
        to.outs++
      }
    }
  }

  /** How many rows of the listing have other marks than a fresh decision gives. */
  countWrong(listingId: string): number {
    return this.#undersOf(listingId).filter(({ row, better }) => {
      const under = this.#sets.at(this.#marks.get(row.rows)?.under[row.slot] ?? 0)
      const isOut = this.#isOut?.(this.#rows.copyAt(row)) ?? false
      return (
        under.join() !== [...new Set(better)].sort((a, b) => a - b).join() || isOut !== this.#isLeftOut(row)
      )
    }).length
  }

  #decideAgain(listingId: string): void {
    if (this.#isOut !== undefined) for (const row of this.#rows.segments.rowsOf(listingId)) this.#setOut(row)
    this.#decide(listingId)
  }

  #decide(listingId: string): void {
    for (const { row, better } of this.#undersOf(listingId)) this.#setUnder(row, this.#sets.numberOf(better))
  }

  /** Per row of the listing, the lanes of better copies. */
  #undersOf(listingId: string): Under[] {
    const rows = this.#rows.segments.rowsOf(listingId)
    if (rows.length < 2) return rows.map((row) => ({ row, better: NONE }))
    const contenders = this.#contenders(rows)
    const inGroups = new Set(contenders.map(({ row }) => row))
    const unders: Under[] = rows.filter((row) => !inGroups.has(row)).map((row) => ({ row, better: NONE }))
    for (const { decider, otherCopies } of decide(contenders, { status: null })) {
      const better: number[] = []
      for (const { row, lane } of [decider, ...otherCopies]) {
        unders.push({ row, better: better.slice() })
        better.push(lane)
      }
    }
    return unders
  }

  /** Copies that are not left out, in an order that stays. */
  #contenders(rows: readonly RowPlace[]): Contender[] {
    const contenders: Contender[] = []
    for (const row of rows) {
      const lane = row.rows.laneOf(row.slot)
      const { source, status } = this.#rows.lanes.at(lane)
      const rank = this.rankOf(source)
      if (rank === null || this.#isLeftOut(row)) continue
      const { isOwn } = this.#rows.source(source)
      const item: ListingIdentity = this.#rows.sellers.of(row.rows.sellerOf(row.slot))
      const key = row.rows.keyOf(row.slot)
      contenders.push({
        item: this.groupBy === 'id' ? KNOWN_BY_ID : item,
        rank,
        status,
        isOwn,
        row,
        lane,
        key,
      })
    }
    return contenders.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.lane - b.lane))
  }

  #exists({ source, via }: Lane, selected: Selected): boolean {
    if (!selected.sources.has(source) || this.rankOf(source) === null) return false
    const passed = selected.via ?? []
    return passed.length === 0 || (via !== null && !via.some((id) => passed.includes(id)))
  }

  #isLeftOut({ rows, slot }: RowPlace): boolean {
    const marks = this.#marks.get(rows)
    return marks !== undefined && hasBit(marks.out, slot)
  }

  #setUnder(row: RowPlace, set: number): void {
    if (set === 0 && !this.#marks.has(row.rows)) return
    const marks = this.#marksFor(row.rows)
    const before = marks.under[row.slot]!
    if (before === set) return
    this.#sets.use(set, 1)
    this.#sets.use(before, -1)
    marks.under[row.slot] = set
    marks.unders += Number(set !== 0) - Number(before !== 0)
    marks.version++
  }

  #setOut(row: RowPlace): void {
    this.#mark(row, this.#isOut!(this.#rows.copyAt(row)))
  }

  #mark(row: RowPlace, isOut: boolean): void {
    if (!isOut && !this.#marks.has(row.rows)) return
    const marks = this.#marksFor(row.rows)
    if (hasBit(marks.out, row.slot) === isOut) return
    if (isOut) setBit(marks.out, row.slot)
    else clearBit(marks.out, row.slot)
    marks.outs += isOut ? 1 : -1
    marks.version++
    this.#outs += isOut ? 1 : -1
  }

  #marksFor(rows: Rows): Marks {
    const marks = this.#marks.get(rows) ?? marksOf(rows.size)
    this.#marks.set(rows, marks)
    return marks
  }

  /** Of a part of the tail, as they are now. */
  #marksIn(segment: Segment): Marks | undefined {
    const { tailSlots, size } = segment
    if (tailSlots === undefined) return this.#marks.get(segment)
    const tail = this.#marks.get(this.#rows.segments.tail)
    if (tail === undefined) return undefined
    const marks = { ...marksOf(size), version: tail.version }
    for (const [slot, inTail] of tailSlots.entries()) {
      marks.under[slot] = tail.under[inTail]!
      if (hasBit(tail.out, inTail)) setBit(marks.out, slot)
    }
    return { ...marks, unders: tail.unders, outs: tail.outs }
  }
}

type Under = { row: RowPlace; better: readonly number[] }

const NONE: readonly number[] = []
/** Of every copy, for readers who know a listing by its id alone: all copies of one id are one listing. */
export const KNOWN_BY_ID: ListingIdentity = { publisher: 'by id', storefrontUrl: null }
/** Rules may read documents. */
const OUTS_PER_STEP = 64

const marksOf = (size: number): Marks => {
  return { under: new Uint32Array(size), out: bitset(size), unders: 0, outs: 0, version: 1 }
}
