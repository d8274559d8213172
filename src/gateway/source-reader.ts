import { SeenListings } from '../domain/listing-identity.ts'
import type { ListingQuery } from '../domain/query.ts'
import { joinMissing } from '../domain/source/missing-source.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { beforePlace, comparePositions, isAfter, type Position } from '../domain/source/position.ts'
import type { Item, Reading, ReadingInfo } from '../domain/source/reading.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { Micros } from '../domain/timestamp.ts'
import type { Deciders, Hiding } from './deciders.ts'
import { askSource, type Outcome } from './sources.ts'

/** `offset` is approximate. */
export type SourceHint = {
  offset: number
  resume?: string | undefined
}

const MAX_FUTURE = 2000

export class SourceReader {
  readonly source: NamedSource
  readonly rank: number
  /** At its end, or failed. */
  isEnded = false
  #info: ReadingInfo | null = null
  #failure: SourceError | null = null
  #listings: readonly Item[] = []
  #next = 0
  /** Whether it is in memory, or was read to its end, so that its total is exact. */
  isWhole = false
  #hidden = 0
  /** Listings that do not exist for the reader. */
  #outside = 0
  /** Whether all its matches were counted. */
  #areAllCounted = false
  #after: Position | null
  #start: Position | null
  #hint: SourceHint
  readonly #deciders: Deciders
  #elapsedMs = 0
  readonly #cap: Micros

  constructor(
    source: NamedSource,
    rank: number,
    {
      cap,
      after,
      hint,
      deciders,
    }: { cap: Micros; after: Position | null; hint: SourceHint; deciders: Deciders },
  ) {
    this.source = source
    this.rank = rank
    this.#cap = cap
    const start = after !== null && source.mayRepeat !== true ? { ...after, nth: 0 } : after
    // Listings of the future share one position, so their order needs all of them.
    const isAmongFuture = start !== null && start.position >= cap
    this.#after = isAmongFuture ? null : start
    this.#start = start
    this.#hint = isAmongFuture ? { offset: 0 } : hint
    this.#deciders = deciders
  }

  get head(): Item | undefined {
    return this.#listings[this.#next]
  }

  get needsReading(): boolean {
    return this.#next >= this.#listings.length && !this.isEnded
  }

  take(): Item {
    return this.#listings[this.#next++]!
  }

  get isInMemory(): boolean {
    return this.#deciders.isHeld(this.rank)
  }

  get isStale(): boolean {
    return this.#info?.stale === true
  }

  addInvalid(): void {
    const info = this.#info
    if (info !== null) this.#info = { ...info, total: info.total - 1, invalid: (info.invalid ?? 0) + 1 }
  }

  /** A copy that was taken, and is not for readers of the signed line. */
  addLeftOut(): void {
    if (!this.#areAllCounted) this.#outside++
  }

  /** A copy that was taken and is not shown, since a better source has the listing. */
  addHidden(hiding: Hiding | null = 'hidden'): void {
    if (!this.isWhole) this.#count(hiding)
  }

  #count(hiding: Hiding | null): void {
    if (hiding === 'outside') this.#outside++
    else this.#hidden++
  }

  get outcome(): Outcome {
    const { source, isWhole } = this
    const result = this.#failure ?? this.#counted ?? new SourceError('budget_spent', 'was not read')
    return { source, elapsedMs: this.#elapsedMs, result, isWhole }
  }

  get #counted(): ReadingInfo | null {
    const dropped = this.#hidden + this.#outside
    if (this.#info === null || dropped === 0) return this.#info
    const { total, hidden = 0 } = this.#info
    return { ...this.#info, total: Math.max(0, total - dropped), hidden: hidden + this.#hidden }
  }

  /** Leads to the first listing with the position of the next one, since a source has ties in any order. */
  get hint(): SourceHint {
    const { head } = this
    const last = this.#listings.at(-1)
    if (last === undefined) return this.#hint
    const passed = this.#hint.offset + this.#next
    if (head === undefined)
      return { offset: last.offset === undefined ? passed : last.offset + 1, resume: last.resume }
    let first = head
    for (let n = this.#next + 1; this.#listings[n]?.position === head.position; n++)
      if ((this.#listings[n]!.offset ?? 0) < (first.offset ?? 0)) first = this.#listings[n]!
    return { offset: first.offset ?? passed, resume: first.resume }
  }

  /** A `SourceError` is kept and ends the source; anything else rejects. */
  async read(count: number, signal: AbortSignal): Promise<void> {
    const query = this.#deciders.queryOf(this.rank)
    const { result, elapsedMs } = await askSource(() => this.#readAll(query, count, signal), signal)
    this.#elapsedMs += elapsedMs
    if (!(result instanceof SourceError)) return this.#add(result)
    this.#failure = result
    this.isEnded = true
  }

  /** Listings of the future come first; all are read. */
  async #readAll(query: ListingQuery, count: number, signal: AbortSignal): Promise<Reading> {
    const { offset: offsetHint, resume } = this.hint
    const { nth = 0 } = this.#after ?? {}
    const range = { after: firstOf(this.#after), offsetHint, resume, count: count + nth }
    for (;;) {
      const reading = await this.source.read(query, range, signal)
      const last = reading.listings.at(-1)
      const isCut =
        this.#after === null && last !== undefined && last.position >= this.#cap && reading.hasMore
      if (!isCut) return reading
      const what = `${this.source.name}: more than ${MAX_FUTURE} dates lie in the future`
      if (range.count >= MAX_FUTURE) throw new SourceError('unsorted', what)
      range.count = Math.min(range.count * 2 + 1, MAX_FUTURE)
    }
  }

  #add(reading: Reading): void {
    const { listings, hasMore, all, ...info } = reading
    this.#hint = this.hint
    this.#next = 0
    this.#listings =
      this.#after === null
        ? this.#behind(this.#inOrder(listings), this.#start)
        : this.#behind(listings, this.#after)
    const last = listings.at(-1)
    if (last !== undefined) this.#after = this.#lastOf(listings, last)
    this.#deciders.learn(listings, this.rank)
    this.isEnded = !hasMore || last === undefined || !this.#mayShowMore(all, last)
    if (this.#info === null) this.#countHidden(all)
    this.#info = this.#info === null ? info : joinInfo(this.#info, info, this.isInMemory)
  }

  /** Whether one of those behind `last` may be shown. Without `all`, they are not known. */
  #mayShowMore(all: Reading['all'], last: Item): boolean {
    if (all === undefined) return true
    const end = all.indexOf(last)
    return all.some((item, n) => n > end && this.#deciders.hidingOf(item, this.rank) === null)
  }

  /** Counts hidden listings, those that a gateway repeats, and those that are left out. The Reading of a source in memory lacks hidden ones. */
  #countHidden(all: Reading['all']): void {
    this.isWhole = all !== undefined || this.isInMemory
    if (all === undefined) return
    this.#areAllCounted = true
    const seen = this.source.mayRepeat === true ? new SeenListings() : null
    for (const item of all) {
      const hiding = this.#deciders.hidingOf(item, this.rank)
      if (hiding !== null) this.#count(hiding)
      else if (seen?.add(item.listingId, item) === false) this.#hidden++
      else if (item.isLeftOut) this.#outside++
    }
  }

  /** A gateway may have more listings of the last place. */
  #lastOf(listings: readonly Item[], { position, listingId }: Item): Position {
    if (this.source.mayRepeat !== true) return { position, listingId, nth: 0 }
    const other = listings.findLastIndex((item) => item.position !== position || item.listingId !== listingId)
    return { position, listingId, nth: listings.length - 1 - other }
  }

  /** Without the first `nth` listings of the place of `start`, as far as they are still there. */
  #behind(listings: readonly Item[], start: Position | null): readonly Item[] {
    if (start === null || (start.nth ?? 0) === 0) return listings
    const position = Math.min(start.position, this.#cap)
    const isOther = (item: Item, n: number): boolean =>
      n >= start.nth! || item.listingId !== start.listingId || Math.min(item.position, this.#cap) !== position
    const first = listings.findIndex(isOther)
    return first === -1 ? NONE : listings.slice(first)
  }

  /** Caps positions, and drops listings before the start. */
  #inOrder(listings: readonly Item[]): readonly Item[] {
    const cap = this.#cap
    const start = firstOf(this.#start)
    if (start === null && (listings[0]?.position ?? cap) <= cap) return listings
    const key = ({ position, listingId }: Item) => ({ position: Math.min(position, this.#cap), listingId })
    const sorted = listings.toSorted((a, b) => comparePositions(key(a), key(b)))
    return sorted.filter((item) => isAfter(key(item), start))
  }
}

const NONE: readonly Item[] = []

/** A start before all listings of its place, if only some of them were passed. */
function firstOf(start: Position | null): Position | null {
  return start !== null && (start.nth ?? 0) > 0 ? beforePlace(start) : start
}

/** Keeps the total of `before`, and the worse of both for the rest. */
function joinInfo(before: ReadingInfo, more: ReadingInfo, isInMemory: boolean): ReadingInfo {
  const worse = before.stale && !more.stale ? before : more
  const { isCurrent: isBeforeCurrent } = before
  const { isCurrent: isMoreCurrent } = more
  return {
    ...before,
    asOf: Math.min(before.asOf, more.asOf),
    stale: before.stale || more.stale,
    reason: worse.reason,
    freshUntil: worse.freshUntil,
    // What is in memory is counted as a whole with every part.
    invalid: isInMemory ? more.invalid : (before.invalid ?? 0) + (more.invalid ?? 0) || undefined,
    missing: joinMissing(before.missing, more.missing),
    isCurrent: isBeforeCurrent && isMoreCurrent && ((now) => isBeforeCurrent(now) && isMoreCurrent(now)),
  }
}
