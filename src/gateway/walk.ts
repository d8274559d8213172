import { describeShown, differ, type MergedItem, shownName } from '../domain/merge.ts'
import type { NamedSource } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import { type Attributes, inSpan, type Trace } from '../domain/trace.ts'
import { Copies, type Copy } from './copies.ts'
import { copyKey } from './copy-key.ts'
import type { Outcome } from './fan-out.ts'
import { History } from './history.ts'
import { claimOf, claimsOf, type Known, Namesakes } from './namesakes.ts'
import { comparePlaces, type Place, placeIn } from './place.ts'
import type { Span } from './track.ts'

/** Where a walk stands: all copies up to a place have been visited, and none behind it. */
export type Standing = {
  behind: Place
  /** Whether not all listings of that instant had been read: then some that stand before the place may be to come. */
  isCrowd: boolean
  /** What would have to be read of each source to go on. */
  spans: Readonly<Record<string, Span>>
  /** Listings shown. */
  nth: number
  /** Keys of copies that were passed by for a better one, which is still to come. */
  passed: readonly string[]
  /** Keys of copies behind the place whose listings have been shown already. */
  ahead: readonly string[]
}

export type WalkOptions = {
  /** Where it goes on from; absent: the top. */
  from?: Standing
  /** What was shown up to there; absent: the walk goes through the sequence from the top again, silently up to there. */
  history?: History
  /** Whether another walk is to go on from where this one ends; absent means no. */
  isPage?: boolean
}

/**
 * Goes through the merged sequence of all sources (`contract.md` 3.1) from end to end, or on from a place, visiting
 * every copy of every listing once, in the order of their places (decision 11):
 *
 * - a copy whose listing was shown is dropped;
 * - one of whose listing a better source is known to have a copy further on is passed by;
 * - any other is shown, where it stands.
 *
 * So every listing comes once: the last of its copies finds it shown, or shows it.
 */
export class Walk {
  /** What this walk has marked, on top of what it began with. */
  readonly history: History
  /** Listings shown so far, those before the start included. */
  nth: number
  readonly #copies: Copies
  readonly #isKept: boolean
  readonly #isAlone: boolean
  #behind: Place
  readonly #passed: Set<string>
  readonly #ahead: Set<string>
  /** Up to here the walk only finds out what somebody who stood there has seen. */
  readonly #silentUpTo: Place | null
  readonly #passedThen: ReadonlySet<string>
  readonly #trace: Trace | undefined

  constructor(
    sources: readonly NamedSource[],
    query: ListingQuery,
    { from, history, isPage = false }: WalkOptions = {},
  ) {
    const isKnown = from !== undefined && history !== undefined
    this.#copies = new Copies(sources, query, isKnown ? from : null)
    this.history = new History(isKnown ? { history, nth: from.nth } : null)
    this.nth = isKnown ? from.nth : 0
    this.#isKept = isPage
    this.#isAlone = sources.length === 1
    this.#behind = from?.behind ?? TOP
    this.#passedThen = new Set(from?.passed)
    this.#passed = new Set(from?.passed)
    this.#ahead = new Set(from?.ahead)
    this.#silentUpTo = isKnown ? null : (from?.behind ?? null)
    this.#trace = query.trace
  }

  get isDone(): boolean {
    return this.#copies.isDone
  }

  /** What became of every source so far, in the order of the configuration. */
  get outcomes(): Outcome[] {
    return this.#copies.outcomes
  }

  get standing(): Standing {
    return {
      behind: this.#behind,
      isCrowd: this.#copies.isCrowd(this.#behind.createdAt),
      spans: this.#copies.spans,
      nth: this.nth,
      passed: [...this.#passed],
      ahead: [...this.#ahead],
    }
  }

  /**
   * The next listings, at least one unless the walk is done, at most `limit`. What is left over comes the next time.
   * Sources that are out when the signal aborts with a `SourceError` have failed.
   */
  async next(limit: number, signal: AbortSignal): Promise<MergedItem[]> {
    while (!this.isDone) {
      const shown = inSpan(this.#trace, 'merge', () => this.#merge(limit), describeMerge)
      if (shown.length > 0) return shown
      await this.#copies.readOn(signal)
    }
    return []
  }

  /** As far as it is certain what comes next. */
  #merge(limit: number): MergedItem[] {
    const shown: MergedItem[] = []
    while (shown.length < limit) {
      const copy = this.#copies.take()
      if (copy === null) break
      const merged = this.#visit(copy)
      if (merged !== null) shown.push(merged)
    }
    return shown
  }

  #visit(copy: Copy): MergedItem | null {
    const { item, track } = copy
    const place = placeIn(item, track.rank)
    const isSilent = this.#silentUpTo !== null && comparePlaces(place, this.#silentUpTo) <= 0
    if (comparePlaces(place, this.#behind) > 0) this.#behind = place
    const ahead = this.#copies.ahead(item.listingId)
    const marks = this.history.of(item.listingId)
    if (ahead.length + marks.length + this.#ahead.size === 0 && !isSilent) {
      // By far the most: nobody else is known to have it.
      this.#markShown(copy, false)
      return describe(copy, NOTHING, ahead, false)
    }
    const namesakes = new Namesakes(marks)
    const claim = claimOf(item, track.rank)
    const isNews = namesakes.isNews(item, claim)
    const listing = namesakes.add(item, claim)
    const wasShownAhead = this.#wasShownAhead(copy, ahead)
    if (listing.isShown || wasShownAhead) {
      if (isNews || !listing.isShown) this.history.add(item, { at: this.nth, isShown: true })
      return null
    }
    const others = othersOf(listing, namesakes, ahead)
    const better = others.filter(({ track: { rank } }) => rank < track.rank)
    const isAwaited = isSilent
      ? this.#passedThen.has(copyKey(item)) || better.some(isOfWhole)
      : better.length > 0
    if (isAwaited) this.#passBy(copy, better)
    else this.#markShown(copy, ahead.length > 0)
    return isAwaited || isSilent ? null : describe(copy, listing, others, namesakes.listings.length > 1)
  }

  /** As a cursor says. Who remembers knows better; and where no other copy is known to be to come, it is over. */
  #wasShownAhead({ item }: Copy, ahead: readonly Copy[]): boolean {
    if (this.#ahead.size === 0) return false
    const key = copyKey(item)
    const wasShown = ahead.length > 0 ? this.#ahead.has(key) : this.#ahead.delete(key)
    return wasShown && this.#silentUpTo !== null
  }

  #passBy({ item, track }: Copy, better: readonly Copy[]): void {
    const carrier = { rank: track.rank, name: shownName(track.source.name, item) }
    const differs = better.some((other) => differ(item, other.item))
    const claims = claimsOf(better.map((other) => ({ item: other.item, rank: other.track.rank })))
    this.history.add(item, { at: this.nth, isShown: false, carrier, claims, differs })
    // Of a source that is known whole it can be found out again.
    if (this.#isKept && !better.some(isOfWhole)) this.#passed.add(copyKey(item))
  }

  #markShown(copy: Copy, hasMore: boolean): void {
    const { item } = copy
    const isNeeded = this.#isKept
      ? !this.#isAlone || this.#copies.isCrowd(item.createdAt)
      : hasMore || this.#copies.mayHaveMore(copy)
    if (isNeeded) this.history.add(item, { at: this.nth, isShown: true })
    if (this.#passed.size > 0) this.#passed.delete(copyKey(item))
    this.nth++
  }
}

const describeMerge = ({ length }: readonly MergedItem[]): Attributes => ({ 'entrepot.merge.items': length })

const NOTHING = { carriers: [], differs: false }

/** Before everything. */
const TOP: Place = { createdAt: Number.POSITIVE_INFINITY, rank: -1, listingId: '' }

/** Those ahead that are of a listing, as far as can be told: the ones whose publishers are known tell it best. */
const othersOf = (listing: Known, namesakes: Namesakes, ahead: readonly Copy[]): readonly Copy[] => {
  if (ahead.length === 0) return ahead
  const isUnknown = ({ item }: Copy): number => (item.publisher === null ? 1 : 0)
  return ahead
    .toSorted((a, b) => isUnknown(a) - isUnknown(b) || a.track.rank - b.track.rank)
    .filter(({ item, track }) => namesakes.add(item, claimOf(item, track.rank)) === listing)
}

const isOfWhole = ({ track }: Copy): boolean => track.page?.find !== undefined

const describe = (
  { item, track }: Copy,
  { carriers, differs }: Pick<Known, 'carriers' | 'differs'>,
  others: readonly Copy[],
  conflict: boolean,
): MergedItem => {
  const carried = others.map((other) => ({
    rank: other.track.rank,
    name: shownName(other.track.source.name, other.item),
  }))
  return describeShown(item, track.source.name, track.page?.stale ?? false, {
    names: [...carriers, ...carried].sort((a, b) => a.rank - b.rank).map(({ name }) => name),
    differs: differs || others.some((other) => differ(item, other.item)),
    conflict,
  })
}
