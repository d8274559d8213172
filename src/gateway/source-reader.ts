import type { ListingQuery } from '../domain/query.ts'
import { joinMissing } from '../domain/source/missing-source.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import {
  compareSortKeys,
  type Item,
  isAfter,
  justBefore,
  type Range,
  type Reading,
  type ReadingInfo,
} from '../domain/source/reading.ts'
import { SourceError } from '../domain/source/source-error.ts'
import { type Micros, parseTimestamp } from '../domain/timestamp.ts'
import { askSource, type Outcome } from './sources.ts'

/** `offset` is approximate. */
export type SourceHint = {
  offset: number
  resume?: string | undefined
  /** The oldest and newest `asOf` of earlier pages (ms since the epoch), for a source in memory. */
  data?: { from: number; to: number } | undefined
}

/** Behind the `nth` listing of that place, of which a gateway may have several. A `null` id: behind all of that instant. */
export type Start = (NonNullable<Range['after']> & { nth: number }) | null

/** How far clocks of Registries, and replicas of this one, may lag. */
const CLOCK_TOLERANCE_MS = { snapshot: 120_000, local: 2000, live: 120_000 }

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
  #find: Reading['find']
  #after: Start
  #start: Start
  #hint: SourceHint
  readonly #hintAtStart: SourceHint
  #elapsedMs = 0
  readonly #cap: Micros

  constructor(
    source: NamedSource,
    rank: number,
    { cap, after, hint }: { cap: Micros; after: Start; hint: SourceHint },
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
    this.#hintAtStart = hint
  }

  get head(): Item | undefined {
    return this.#listings[this.#next]
  }

  get needsReading(): boolean {
    return this.#next >= this.#listings.length && !this.isEnded
  }

  /** Ended without any match. */
  get isEmpty(): boolean {
    return this.isEnded && (this.#info?.total ?? 0) === 0 && this.#listings.length === 0
  }

  /** Read, and not taken. */
  get lookahead(): readonly Item[] {
    return this.#listings.slice(this.#next)
  }

  take(): Item {
    return this.#listings[this.#next++]!
  }

  /** Empty unless the source was read whole. */
  find(listingId: string): readonly Item[] {
    return this.#find?.(listingId) ?? NONE
  }

  /**
   * Whether a listing was visited on earlier pages. Only sources in memory prove that, since their data never
   * go back in time. Listings of a gateway prove nothing: it may have ordered them by another copy.
   */
  provesVisit(item: Item): boolean {
    const before = this.#hintAtStart.data
    const isInMemory = item.offset === undefined
    if (before === undefined || !isInMemory || item.origin !== undefined) return false
    if (this.#info === null || this.#info.asOf < before.to) return false
    if (this.source.mode === 'snapshot' && this.#info.asOf === before.from) return true
    const latest = (before.from - CLOCK_TOLERANCE_MS[this.source.mode]) * 1000
    return item.position <= latest && changedAt(item) <= latest
  }

  get isStale(): boolean {
    return this.#info?.stale === true
  }

  addInvalid(): void {
    const info = this.#info
    if (info !== null) this.#info = { ...info, total: info.total - 1, invalid: (info.invalid ?? 0) + 1 }
  }

  get outcome(): Outcome {
    const result = this.#failure ?? this.#info ?? new SourceError('budget_spent', 'was not read')
    return { source: this.source, elapsedMs: this.#elapsedMs, result }
  }

  /** At the first listing with the next one's position, since ties are in any order there. */
  get hint(): SourceHint {
    const { head } = this
    const last = this.#listings.at(-1)
    const data = this.#data
    if (last === undefined) return { ...this.#hint, data }
    const passed = this.#hint.offset + this.#next
    if (head === undefined)
      return { offset: last.offset === undefined ? passed : last.offset + 1, resume: last.resume, data }
    let first = head
    for (let n = this.#next + 1; this.#listings[n]?.position === head.position; n++)
      if ((this.#listings[n]!.offset ?? 0) < (first.offset ?? 0)) first = this.#listings[n]!
    return { offset: first.offset ?? passed, resume: first.resume, data }
  }

  get #data(): SourceHint['data'] {
    const { data } = this.#hintAtStart
    const asOf = this.#info?.asOf
    if (this.source.mode === 'live' || asOf === undefined) return data
    return { from: Math.min(asOf, data?.from ?? asOf), to: Math.max(asOf, data?.to ?? asOf) }
  }

  /** A `SourceError` is kept and ends the source; anything else rejects. */
  async read(query: ListingQuery, count: number, signal: AbortSignal): Promise<void> {
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
    const { listings, hasMore, find, ...info } = reading
    this.#hint = this.hint
    this.#next = 0
    this.#listings =
      this.#after === null ? behind(this.#inOrder(listings), this.#start) : behind(listings, this.#after)
    const last = listings.at(-1)
    if (last !== undefined) this.#after = this.#lastOf(listings, last)
    this.isEnded = !hasMore || last === undefined
    this.#find = find
    this.#info = this.#info === null ? info : joinInfo(this.#info, info)
  }

  /** A gateway may have more listings of the last place. */
  #lastOf(listings: readonly Item[], { position, listingId }: Item): Start {
    if (this.source.mayRepeat !== true) return { position, listingId, nth: 0 }
    const other = listings.findLastIndex((item) => item.position !== position || item.listingId !== listingId)
    return { position, listingId, nth: listings.length - 1 - other }
  }

  /** Caps positions, and drops listings before the start. */
  #inOrder(listings: readonly Item[]): readonly Item[] {
    const cap = this.#cap
    const start = firstOf(this.#start)
    if (start === null && (listings[0]?.position ?? cap) <= cap) return listings
    const key = ({ position, listingId }: Item) => ({ position: Math.min(position, this.#cap), listingId })
    const sorted = listings.toSorted((a, b) => compareSortKeys(key(a), key(b)))
    return sorted.filter((item) => isAfter(key(item), start))
  }
}

const NONE: readonly Item[] = []

/** Includes the listings of its place where some of them were passed. */
function firstOf(start: Start): Range['after'] {
  if (start === null) return null
  const { position, listingId, nth } = start
  return { position, listingId: nth > 0 && listingId !== null ? justBefore(listingId) : listingId }
}

function behind(listings: readonly Item[], start: Start): readonly Item[] {
  if (start === null || start.nth === 0) return listings
  const isOther = ({ listingId }: Item, n: number): boolean => n >= start.nth || listingId !== start.listingId
  const first = listings.findIndex(isOther)
  return first === -1 ? NONE : listings.slice(first)
}

/** `Infinity` for an unreadable listing, which was not shown. */
function changedAt(item: Item): Micros {
  try {
    const { updated_at: updated } = JSON.parse(Buffer.from(item.bytes).toString())
    return typeof updated === 'string' ? (parseTimestamp(updated) ?? item.position) : item.position
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** The first total, the worst of the rest. */
function joinInfo(before: ReadingInfo, more: ReadingInfo): ReadingInfo {
  const worse = more.stale || before.cache?.outcome === 'hit' ? more : before
  const { isCurrent: isBeforeCurrent } = before
  const { isCurrent: isMoreCurrent } = more
  return {
    ...before,
    asOf: Math.min(before.asOf, more.asOf),
    stale: before.stale || more.stale,
    reason: worse.reason,
    cache: worse.cache,
    invalid: (before.invalid ?? 0) + (more.invalid ?? 0) || undefined,
    missing: joinMissing(before.missing, more.missing),
    isCurrent: isBeforeCurrent && isMoreCurrent && ((now) => isBeforeCurrent(now) && isMoreCurrent(now)),
  }
}
