import { type Directives, joinDirectives, NO_DIRECTIVES } from '../../domain/source/freshness.ts'
import { joinMissing, type MissingSource } from '../../domain/source/missing-source.ts'
import { compareSortKeys, isAfter, type Range } from '../../domain/source/reading.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamOptions } from '../../domain/source/upstream.ts'
import type { Micros } from '../../domain/timestamp.ts'
import { type ListingPage, listingKey, type PageItem } from '../page/listing-page.ts'

export type RunUpstream = Pick<UpstreamOptions, 'name' | 'kind' | 'scanLimit'>

/**
 * Joined pages of one question. A page joins when no listing can be missing in between: it begins before the
 * last known listing, or contains a known one at the same position. Re-dated listings and empty pages prove
 * nothing.
 */
export class Run {
  /** Time of its first request, in ms since the Unix epoch. */
  readonly asOf: number
  readonly after: Range['after']
  readonly pages: ListingPage[] = []
  readonly skipped: number[] = []
  /** Every readable listing once, matching or not, in the upstream's order. */
  readonly items: PageItem[] = []
  /** At the end of the upstream. */
  isEnded = false
  isSorted = true
  /** Offset after its last page; decreases where reading stepped back. */
  end = 0
  readonly #upstream: RunUpstream
  /** By key, of every item. */
  readonly #positions = new Map<string, Micros>()
  readonly #unreadable = new Set<number>()
  #byId: ReadonlyMap<string, readonly PageItem[]> | null = null
  #view: { items: PageItem[]; length: number; isEnded: boolean } | null = null

  constructor(upstream: RunUpstream, after: Range['after'], asOf: number) {
    this.#upstream = upstream
    this.after = after
    this.asOf = asOf
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

  get unreadableAtEnd(): number {
    let count = 0
    while (this.#unreadable.has(this.end - 1 - count)) count++
    return count
  }

  get missing(): readonly MissingSource[] | undefined {
    return this.pages.map(({ missing }) => missing).reduce(joinMissing, undefined)
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
    certain.sort(compareSortKeys)
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

  /** Whether reading on at its end can cover the range. */
  reaches({ after }: Range): boolean {
    if (!this.#beginsBefore(after)) return false
    const last = this.listings.at(-1)
    return this.isEnded || after === null || (last !== undefined && !isBefore(last, after))
  }

  #beginsBefore(after: Range['after']): boolean {
    if (this.after === null || after === null) return this.after === null
    const { position, listingId } = this.after
    if (position !== after.position) return position > after.position
    return after.listingId === null || (listingId !== null && listingId <= after.listingId)
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

  fork({ after }: Range): Run {
    const start = after === null ? this.after : after
    const run = new Run(this.#upstream, start, this.asOf)
    run.isSorted = this.isSorted
    for (const page of start === null ? this.pages : this.#pagesFrom(start.position)) run.add(page)
    const first = start === null ? 0 : (run.pages[0]?.offset ?? 0)
    for (const offset of this.skipped) if (offset >= first) run.skip(offset)
    return run
  }

  /** By position, since offsets shift. The page before is included where the first one begins too late. */
  #pagesFrom(position: Micros): readonly ListingPage[] {
    const reaching = this.pages.findIndex(({ items }) => (items.at(-1)?.position ?? position) <= position)
    const beginsTooLate = (this.pages[reaching]?.items[0]?.position ?? position) <= position
    return this.pages.slice(Math.max(0, beginsTooLate ? reaching - 1 : reaching))
  }

  isJoint(page: ListingPage): boolean {
    if (page.offset === 0 || page.about.resume !== undefined) return true
    const first = page.items[0]
    if (first === undefined) return false
    const last = this.items.at(-1)
    if (last === undefined) return this.after === null || first.position > this.after.position
    if (this.isSorted && first.position > last.position) return true
    const { kind } = this.#upstream
    return page.items.some((item) => this.#positions.get(listingKey(item, kind)) === item.position)
  }

  /** @returns whether a page that joins added a listing */
  add(page: ListingPage): boolean {
    const before = this.items.length
    let previous = Number.POSITIVE_INFINITY
    for (const item of page.items) {
      if (item.position > previous) this.isSorted = false
      previous = item.position
      const key = listingKey(item, this.#upstream.kind)
      // Listings that were re-dated keep their first place.
      if (this.#positions.has(key)) continue
      this.#positions.set(key, item.position)
      this.items.push(item)
    }
    this.pages.push(page)
    // Decreases after a step back.
    this.end = page.offset + page.received
    if (page.items.length < page.received) {
      const readable = new Set(page.items.map(({ offset }) => offset))
      for (let offset = page.offset; offset < this.end; offset++)
        if (!readable.has(offset)) this.#unreadable.add(offset)
    }
    return this.items.length > before
  }

  skip(offset: number): void {
    this.skipped.push(offset)
    this.#unreadable.add(offset)
    this.end = Math.max(this.end, offset + 1)
  }

  broken(what: string): SourceError {
    return new SourceError('bad_envelope', `${this.#upstream.name}: ${what}`)
  }
}

const NONE: readonly PageItem[] = []

/** Index in sorted listings. */
export function firstAfter(listings: readonly PageItem[], after: Range['after']): number {
  let low = 0
  let high = listings.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (isAfter(listings[middle]!, after)) high = middle
    else low = middle + 1
  }
  return low
}

function isBefore(last: PageItem, { position, listingId }: NonNullable<Range['after']>): boolean {
  if (last.position !== position) return last.position > position
  return listingId === null || last.listingId < listingId
}
