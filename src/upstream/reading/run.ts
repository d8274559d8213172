import { type Directives, joinDirectives, NO_DIRECTIVES } from '../../domain/source/freshness.ts'
import { joinMissing, type MissingSource } from '../../domain/source/missing-source.ts'
import { comparePositions, isAfter, type Position } from '../../domain/source/position.ts'
import type { Range } from '../../domain/source/reading.ts'
import type { UpstreamKind } from '../../domain/source/upstream.ts'
import { compareRows, type WalkPage } from '../../domain/walk/walk.ts'
import { type ListingPage, listingKey, type PageItem } from '../page/listing-page.ts'

const RUN_HEAP_BYTES = 1200
const PAGE_HEAP_BYTES = 950
/** Includes evicted bodies until they are collected. */
const BODY_FACTOR = 1.375

/** A page as the walk judges it, with what it adds to the run. */
export type RunPage = WalkPage & {
  page: ListingPage
  fresh: ReadonlyMap<string, PageItem>
  /** Rows of listings that the upstream itself has more than once. */
  duplicates: number
  /** Offsets. */
  unreadable: ReadonlySet<number>
}

type RunStart = { after: Position | null; asOf: number; isSorted?: boolean }

/**
 * Joined pages of one question. A page joins when no listing can be missing in between: it begins before the
 * last known listing, or contains a known one at the same position. Re-dated listings and empty pages prove
 * nothing.
 */
export class Run {
  /** Time of its first request, in ms since the Unix epoch. */
  readonly asOf: number
  readonly after: Position | null
  readonly pages: ListingPage[] = []
  /** Every readable listing once, matching or not, in the upstream's order. */
  readonly items: PageItem[] = []
  /** At the end of the upstream. */
  isEnded = false
  isSorted: boolean
  /** Offset after its last page; decreases where reading stepped back. */
  end = 0
  readonly #kind: UpstreamKind
  readonly #byKey = new Map<string, PageItem>()
  readonly #unreadable = new Set<number>()
  #duplicates = 0
  #byId: ReadonlyMap<string, readonly PageItem[]> | null = null
  #view: { items: PageItem[]; length: number; isEnded: boolean } | null = null

  constructor(kind: UpstreamKind, { after, asOf, isSorted = true }: RunStart) {
    this.#kind = kind
    this.after = after
    this.asOf = asOf
    this.isSorted = isSorted
  }

  /** An estimate, checked by `npm run bench churn`. */
  get retainedBytes(): number {
    let bytes = RUN_HEAP_BYTES
    for (const page of this.pages) bytes += PAGE_HEAP_BYTES + Math.ceil(page.bytes.length * BODY_FACTOR)
    for (const item of this.items) bytes += item.retainedBytes
    return bytes
  }

  get isComplete(): boolean {
    return this.after === null && this.isEnded && this.missing === undefined
  }

  /** Exact when complete. */
  get total(): number {
    if (this.after === null && this.isEnded) return this.listings.length
    return Math.max(this.#reported - this.excluded - this.invalid, this.listings.length)
  }

  /** Matching or not: a gateway whose cursors never end may report any total. */
  get expected(): number {
    return Math.max(this.#reported, this.items.length)
  }

  get #reported(): number {
    return this.pages.at(-1)?.total ?? 0
  }

  get excluded(): number {
    let count = 0
    for (const { isMatch } of this.items) if (!isMatch) count++
    return count
  }

  get invalid(): number {
    return this.#unreadable.size
  }

  get missing(): readonly MissingSource[] | undefined {
    return this.pages.map(({ missing }) => missing).reduce(joinMissing, undefined)
  }

  /** Of its oldest data when they were sent. */
  get ageSeconds(): number {
    return Math.max(this.directives.ageSeconds, ...this.pages.map((page) => page.ageSeconds))
  }

  get directives(): Directives {
    return this.pages.reduce(
      (joined, { about }) => joinDirectives(joined, about.directives ?? NO_DIRECTIVES),
      NO_DIRECTIVES,
    )
  }

  /**
   * Sorted matches, without those at the last position until all of them are read: more may follow in any
   * order.
   */
  get listings(): readonly PageItem[] {
    const { items, isEnded } = this
    if (this.#view?.length === items.length && this.#view.isEnded === isEnded) return this.#view.items
    const last = isEnded || items.length === 0 ? Number.NEGATIVE_INFINITY : items.at(-1)!.position
    const certain = items.filter((item) => item.isMatch && item.position > last)
    certain.sort(comparePositions)
    this.#view = { items: certain, length: items.length, isEnded }
    return certain
  }

  get tieLength(): number {
    const last = this.items.at(-1)?.position
    let count = 0
    while (count < this.items.length && this.items.at(-1 - count)!.position === last) count++
    return count
  }

  /** Whether it holds the range, or all that exists of it. */
  covers({ after, count }: Range): boolean {
    if (!this.#beginsBefore(after)) return false
    return this.isEnded || this.listings.length - firstAfter(this.listings, after) >= count
  }

  #beginsBefore(after: Position | null): boolean {
    if (this.after === null || after === null) return this.after === null
    return comparePositions(this.after, after) <= 0
  }

  /** More than `count` where the last position ties. */
  select({ after, count }: Range): { listings: readonly PageItem[]; hasMore: boolean; invalid: number } {
    const { listings } = this
    const start = firstAfter(listings, after)
    let end = Math.min(start + count, listings.length)
    while (end > start && listings[end]?.position === listings[end - 1]!.position) end++
    const selected = listings.slice(start, end)
    const hasMore = !this.isEnded || start + selected.length < listings.length
    const invalid = this.invalidBetween(listings[start - 1], hasMore ? selected.at(-1) : undefined)
    return { listings: selected, hasMore, invalid }
  }

  /** From behind `previous`, or the start, to `last`, or the end: ranges in a row count an unreadable listing once. */
  invalidBetween(previous: PageItem | undefined, last: PageItem | undefined): number {
    if (!this.isSorted) return previous === undefined ? this.invalid : 0
    const [from, to] = [previous?.offset ?? -1, last?.offset ?? Number.POSITIVE_INFINITY]
    let count = 0
    for (const offset of this.#unreadable) if (offset > from && offset < to) count++
    return count
  }

  find(listingId: string): readonly PageItem[] {
    this.#byId ??= Map.groupBy(this.listings, (item) => item.listingId)
    return this.#byId.get(listingId) ?? NONE
  }

  /** What a page is to this run, which does not change. */
  describe(page: ListingPage): RunPage {
    const { items, offset, received, total, isGateway, nextCursor } = page
    const last = this.pages.at(-1)?.items.at(-1)
    const [first] = items
    const rows = items.map((item) => [listingKey(item, this.#kind), item] as const)
    const { fresh, duplicates, hasMoved, repeatsSome } = compareRows(rows, this.#byKey, this.end)
    const unreadable = this.#newUnreadable(page)
    const before = this.items.length + this.#duplicates + this.#unreadable.size
    return {
      offset,
      received,
      total,
      isGateway,
      nextCursor,
      isJoint: repeatsSome || this.#isBehind(page),
      isSorted: items.every(({ position }, n) => n === 0 || position <= items[n - 1]!.position),
      added: fresh.size,
      counted: before + fresh.size + duplicates + unreadable.size,
      hasMoved,
      repeatsLast: first?.listingId === last?.listingId && first?.position === last?.position,
      lastOffset: items.at(-1)?.offset,
      unreadableAtEnd: countBefore(offset + received, [unreadable, this.#unreadable]),
      page,
      fresh,
      duplicates,
      unreadable,
    }
  }

  add({ page, isSorted, fresh, duplicates, unreadable }: RunPage): void {
    if (!isSorted) this.isSorted = false
    for (const [key, item] of fresh) {
      this.#byKey.set(key, item)
      this.items.push(item)
    }
    this.#duplicates += duplicates
    this.pages.push(page)
    this.end = page.offset + page.received
    for (const offset of unreadable) this.#unreadable.add(offset)
  }

  skip(offset: number): void {
    this.#unreadable.add(offset)
    this.end = Math.max(this.end, offset + 1)
  }

  /** Whether nothing can be missing before it, whatever it repeats. */
  #isBehind({ offset, about, items: [first] }: ListingPage): boolean {
    if (offset === 0 || about.resume !== undefined) return true
    if (first === undefined) return false
    const last = this.items.at(-1)
    if (last === undefined) return this.after === null || first.position > this.after.position
    return this.isSorted && first.position > last.position
  }

  #newUnreadable({ items, offset, received }: ListingPage): ReadonlySet<number> {
    const unreadable = new Set<number>()
    if (items.length === received) return unreadable
    const readable = new Set(items.map((item) => item.offset))
    for (let at = offset; at < offset + received; at++)
      if (!readable.has(at) && !this.#unreadable.has(at)) unreadable.add(at)
    return unreadable
  }
}

function countBefore(end: number, sets: readonly ReadonlySet<number>[]): number {
  let count = 0
  while (sets.some((set) => set.has(end - 1 - count))) count++
  return count
}

const NONE: readonly PageItem[] = []

/** Index in sorted listings. */
export function firstAfter(listings: readonly PageItem[], after: Position | null): number {
  let low = 0
  let high = listings.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (isAfter(listings[middle]!, after)) high = middle
    else low = middle + 1
  }
  return low
}
