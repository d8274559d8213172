import type { ListingQuery } from '../domain/query.ts'
import { joinMissing } from '../domain/source/missing-source.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { comparePositions, isAfter, type Position, placeOf } from '../domain/source/position.ts'
import type { Item, Range, Reading, ReadingInfo } from '../domain/source/reading.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { Micros } from '../domain/timestamp.ts'
import { askSource, type Outcome } from './sources.ts'

const MAX_FUTURE = 2000

type ReaderOptions = {
  query: ListingQuery
  /** Later positions count as this one. */
  cap: Micros
  after: Position | null
  /** Listings to begin behind. */
  skip: number
}

/** The listings of one source in their order, as far as they were read. */
export class SourceReader {
  readonly source: NamedSource
  readonly rank: number
  /** At its end, or failed. */
  isEnded = false
  readonly #query: ListingQuery
  readonly #cap: Micros
  /** Behind what was read before; `null`: nothing. */
  readonly #start: Position | null
  readonly #skip: number
  #after: Position | null
  #info: ReadingInfo | null = null
  #failure: SourceError | null = null
  #listings: readonly Item[] = []
  #next = 0
  /** Taken, and not for readers of the signed line. */
  #leftOut = 0
  #elapsedMs = 0

  constructor(source: NamedSource, rank: number, { query, cap, after, skip }: ReaderOptions) {
    this.source = source
    this.rank = rank
    this.#query = query
    this.#cap = cap
    // Listings of the future share one position, so their order needs all of them.
    this.#after = after !== null && after.position >= cap ? null : after
    this.#start = after
    this.#skip = skip
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

  get isStale(): boolean {
    return this.#info?.stale === true
  }

  addLeftOut(): void {
    this.#leftOut++
  }

  get outcome(): Outcome {
    const { source } = this
    const result = this.#failure ?? this.#counted ?? new SourceError('budget_spent', 'was not read')
    return { source, elapsedMs: this.#elapsedMs, result }
  }

  get #counted(): ReadingInfo | null {
    if (this.#info === null || this.#leftOut === 0) return this.#info
    return { ...this.#info, total: Math.max(0, this.#info.total - this.#leftOut) }
  }

  /** A `SourceError` is kept and ends the source; anything else rejects. */
  async read(count: number, signal: AbortSignal): Promise<void> {
    const { result, elapsedMs } = await askSource(() => this.#readAll(count, signal), signal)
    this.#elapsedMs += elapsedMs
    if (!(result instanceof SourceError)) return this.#add(result)
    this.#failure = result
    this.isEnded = true
  }

  /** Listings of the future come first; all are read. */
  async #readAll(count: number, signal: AbortSignal): Promise<Reading> {
    const range: Range = { after: this.#after, skip: this.#skip, count }
    for (;;) {
      const reading = await this.source.read(this.#query, range, signal)
      const last = reading.listings.at(-1)
      const isCut =
        this.#after === null && last !== undefined && last.position >= this.#cap && reading.hasMore
      if (!isCut) return reading
      const what = `${this.source.name}: more than ${MAX_FUTURE} dates lie in the future`
      if (range.count >= MAX_FUTURE) throw new SourceError('too_large', what)
      range.count = Math.min(range.count * 2 + 1, MAX_FUTURE)
    }
  }

  #add({ listings, hasMore, ...info }: Reading): void {
    this.#next = 0
    this.#listings = this.#after === null ? this.#inOrder(listings) : listings
    const last = listings.at(-1)
    if (last !== undefined) this.#after = placeOf(last)
    this.isEnded = !hasMore || last === undefined
    this.#info = this.#info === null ? info : joinInfo(this.#info, info)
  }

  /** Caps positions, and drops listings before the start. */
  #inOrder(listings: readonly Item[]): readonly Item[] {
    const cap = this.#cap
    const start = this.#start
    if (start === null && (listings[0]?.position ?? cap) <= cap) return listings
    const capped = (item: Item): Position => ({ ...placeOf(item), position: Math.min(item.position, cap) })
    const sorted = listings.toSorted((a, b) => comparePositions(capped(a), capped(b)))
    return sorted.filter((item) => isAfter(capped(item), start))
  }
}

/** Keeps the total of `before`, and the worse of both for the rest. */
function joinInfo(before: ReadingInfo, more: ReadingInfo): ReadingInfo {
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
    invalid: more.invalid,
    missing: joinMissing(before.missing, more.missing),
    isCurrent: isBeforeCurrent && isMoreCurrent && ((now) => isBeforeCurrent(now) && isMoreCurrent(now)),
  }
}
