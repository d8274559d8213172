import type { ListingQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { Micros } from '../domain/timestamp.ts'
import { inSpan } from '../domain/trace.ts'
import {
  addCopy,
  belongs,
  type Copy,
  copyKey,
  groupCopies,
  groupOf,
  isSameCopy,
  type KnownListing,
  type MergedItem,
  mergeGroup,
  newListing,
} from './merged-item.ts'
import { type SourceHint, SourceReader, type Start } from './source-reader.ts'
import { type Outcome, rankSources } from './sources.ts'

export type ResumePoint = {
  /** The last visited copy: the `nth` of its source at that place, of which a gateway may have several. */
  after: { position: Micros; rank: number; listingId: string; nth: number }
  /** Later positions count as this one, on every page. */
  cap: Micros
  hints: Readonly<Record<string, SourceHint>>
}

/**
 * What one page of 200 yields: it overlaps the page before by ten, and its last listing shows where a tie
 * ends.
 */
export const ROUND = 189

/**
 * Newest first, each listing once. Copies are visited by position, then the source's priority, then
 * `listing_id`; copies of emitted listings are dropped. The best copy that is known is shown.
 *
 * The first N listings depend only on the first N copies of each source: ids are unique within a source, so
 * fewer than N of its copies precede them. So pages by offset neither lose nor repeat a listing.
 */
export class MergedSequence {
  readonly #query: ListingQuery
  readonly #readers: readonly SourceReader[]
  readonly #ranked: readonly SourceReader[]
  readonly #sources: readonly NamedSource[]
  readonly #start: ResumePoint | null
  readonly #cap: Micros
  /** Copies that were read and not visited, by id. */
  readonly #lookahead = new Map<string, Copy[]>()
  /** Ids that had several of them. */
  readonly #repeated = new Set<string>()
  /** Emitted listings by id, while another copy may still come. */
  readonly #emitted = new Map<string, readonly KnownListing[]>()
  /** By `copyKey`. */
  readonly #duplicates = new Set<string>()
  #after: ResumePoint['after'] | null
  #hasRead = false
  #hasNoCopies = false

  constructor(
    sources: readonly NamedSource[],
    query: ListingQuery,
    { cap, from = null }: { cap: Micros; from?: ResumePoint | null },
  ) {
    this.#query = query
    this.#start = from
    this.#after = from?.after ?? null
    this.#cap = from?.cap ?? cap
    this.#sources = rankSources(sources)
    this.#readers = sources.map((source) => {
      const rank = this.#sources.indexOf(source)
      const hint = from?.hints[source.name] ?? { offset: 0 }
      return new SourceReader(source, rank, { cap: this.#cap, after: startOf(from, rank), hint })
    })
    this.#ranked = this.#readers.toSorted((a, b) => a.rank - b.rank)
  }

  get outcomes(): Outcome[] {
    return this.#readers.map(({ outcome }) => outcome)
  }

  get resumePoint(): ResumePoint | null {
    if (this.#after === null) return null
    const hints = Object.fromEntries(this.#readers.map((reader) => [reader.source.name, reader.hint]))
    return { after: this.#after, cap: this.#cap, hints }
  }

  /** Distinct matches, less known duplicates. */
  get total(): number {
    let reported = 0
    for (const { outcome } of this.#readers)
      if (!(outcome.result instanceof SourceError)) reported += outcome.result.total
    return Math.max(0, reported - this.#duplicates.size - this.#duplicatesInLookahead())
  }

  /** Fewer than `least` only at the end. An abort with a `SourceError` fails the pending sources only. */
  async take(count: number, signal: AbortSignal, least = count): Promise<MergedItem[]> {
    const taken = this.#merge(count)
    while (taken.length < least && !this.#isDone) {
      await this.#readRound(count - taken.length, signal)
      taken.push(...this.#merge(count - taken.length))
    }
    return taken
  }

  /** As far as known without reading. It may consume the next listing, so call it last. */
  hasMore(): boolean {
    return this.#mergeAll(1).length > 0 || !this.#isDone
  }

  get #isDone(): boolean {
    return this.#readers.every(({ isEnded, head }) => isEnded && head === undefined)
  }

  async #readRound(wanted: number, signal: AbortSignal): Promise<void> {
    const count = this.#hasRead ? ROUND : wanted
    this.#hasRead = true
    const pending = this.#readers.filter(({ needsReading }) => needsReading)
    await Promise.all(pending.map((reader) => reader.read(this.#query, count, signal)))
    const filled = this.#readers.filter(({ isEmpty }) => !isEmpty)
    this.#hasNoCopies = filled.length <= 1 && filled[0]?.source.mayRepeat !== true
    if (!this.#hasNoCopies) for (const reader of pending) this.#index(reader)
  }

  #index(reader: SourceReader): void {
    for (const item of reader.lookahead) {
      const copy = { item, reader }
      const known = this.#lookahead.get(item.listingId)
      if (known === undefined) this.#lookahead.set(item.listingId, [copy])
      else {
        known.push(copy)
        this.#repeated.add(item.listingId)
      }
    }
  }

  #merge(count: number): MergedItem[] {
    if (!this.#hasRead) return []
    const attributes = ({ length }: MergedItem[]) => ({ 'entrepot.merge.items': length })
    return inSpan(this.#query.trace, 'merge', () => this.#mergeAll(count), attributes)
  }

  #mergeAll(count: number): MergedItem[] {
    const merged: MergedItem[] = []
    while (merged.length < count) {
      const reader = this.#foremost()
      if (reader === null) break
      const listing = this.#visit({ item: reader.take(), reader })
      if (listing !== null) merged.push(listing)
    }
    return merged
  }

  /** `null` where a source has to be read first, and at the end. */
  #foremost(): SourceReader | null {
    let foremost: SourceReader | null = null
    let position = Number.NEGATIVE_INFINITY
    for (const reader of this.#ranked) {
      const { head } = reader
      if (head === undefined) {
        if (reader.isEnded) continue
        return null
      }
      const own = Math.min(head.position, this.#cap)
      if (own <= position) continue
      position = own
      foremost = reader
    }
    return foremost
  }

  #visit(copy: Copy & { reader: SourceReader }): MergedItem | null {
    const { item, reader } = copy
    const { listingId } = item
    const place = this.#placeOf(copy)
    const isSamePlace = this.#after !== null && comparePlaces(place, this.#after) === 0
    this.#after = { ...place, nth: isSamePlace ? this.#after!.nth + 1 : 1 }
    if (this.#hasNoCopies) return this.#emit(copy, { group: [copy], isConflict: false })
    const others = this.#othersOf(copy)
    const before = this.#emitted.get(listingId) ?? this.#listingsBefore([copy, ...others])
    const known = before.find((listing) => belongs(item, listing))
    if (known !== undefined) addCopy(known, item)
    const found = known === undefined ? groupOf(copy, others, before) : null
    const listings = found === null ? before : [...before, newListing(copy, found.group)]
    if (others.length > 0 || this.#mayCome(reader)) this.#emitted.set(listingId, listings)
    else this.#emitted.delete(listingId)
    if (found !== null) return this.#emit(copy, found)
    this.#duplicates.add(copyKey(copy))
    return null
  }

  /** Copies that were not visited, as far as they were read or can be looked up. */
  #othersOf({ item, reader }: Copy & { reader: SourceReader }): Copy[] {
    const { listingId } = item
    const others = this.#lookahead.get(listingId)?.filter((copy) => copy.item !== item) ?? []
    if (others.length > 0) this.#lookahead.set(listingId, [...others])
    else this.#lookahead.delete(listingId)
    for (const other of this.#readers) {
      if (other === reader) continue
      const read = others.filter((copy) => copy.reader === other)
      for (const found of other.find(listingId))
        if (!read.some(({ item }) => isSameCopy(item, found))) others.push({ item: found, reader: other })
    }
    return others
  }

  /**
   * Listings on earlier pages, as far as sources in memory prove it: their pages are exact on any replica.
   */
  #listingsBefore(copies: Copy[]): readonly KnownListing[] {
    const start = this.#start
    if (start === null || copies.length === 1) return NO_LISTINGS
    const before = copies
      .filter((copy) => comparePlaces(this.#placeOf(copy), start.after) <= 0)
      .filter(({ item, reader: { rank } }) => this.#ranked[rank]!.provesVisit(item))
      .sort((a, b) => comparePlaces(this.#placeOf(a), this.#placeOf(b)))
    const listings: KnownListing[] = []
    for (const copy of before) {
      const known = listings.find((listing) => belongs(copy.item, listing))
      if (known === undefined) listings.push(newListing(copy, groupOf(copy, copies, listings).group))
      else addCopy(known, copy.item)
    }
    return listings
  }

  /** Includes sources that were whole: their next Reading may be of another moment. */
  #mayCome(own: SourceReader): boolean {
    const canBring = (reader: SourceReader): boolean => reader !== own || reader.source.mayRepeat === true
    return this.#readers.some((reader) => canBring(reader) && !reader.isEnded)
  }

  #emit(copy: Copy, { group, isConflict }: ReturnType<typeof groupOf>): MergedItem | null {
    const { position } = this.#placeOf(copy)
    const merged = mergeGroup(group, { ranked: this.#sources, conflict: isConflict, position })
    if (merged === null) return null
    const start = this.#start?.after
    // Copies before the start were visited on earlier pages.
    for (const other of group)
      if (other !== copy && (start === undefined || comparePlaces(this.#placeOf(other), start) > 0))
        this.#duplicates.add(copyKey(other))
    return merged
  }

  #duplicatesInLookahead(): number {
    let count = 0
    for (const listingId of new Set([...this.#repeated, ...this.#emitted.keys()])) {
      const listings = this.#emitted.get(listingId) ?? NO_LISTINGS
      const unread = this.#lookahead.get(listingId) ?? []
      const copies = unread.filter((copy) => !this.#duplicates.has(copyKey(copy)))
      const fresh = copies.filter(({ item }) => !listings.some((listing) => belongs(item, listing)))
      count += copies.length - groupCopies(fresh).length
    }
    return count
  }

  #placeOf({ item: { position, listingId }, reader: { rank } }: Copy): Place {
    return { position: Math.min(position, this.#cap), rank, listingId }
  }
}

const NO_LISTINGS: readonly KnownListing[] = []

type Place = Omit<ResumePoint['after'], 'nth'>

function comparePlaces(a: Place, b: Place): number {
  if (a.position !== b.position) return b.position - a.position
  if (a.rank !== b.rank) return a.rank - b.rank
  return a.listingId < b.listingId ? -1 : a.listingId > b.listingId ? 1 : 0
}

/** Ties of better sources precede the resume point; ties of worse sources follow it. */
function startOf(from: ResumePoint | null, rank: number): Start {
  if (from === null) return null
  const { position, listingId, rank: last, nth } = from.after
  if (rank === last) return { position, listingId, nth }
  return { position, listingId: rank < last ? null : '', nth: 0 }
}
