import { raceAbortAfterTick } from '../domain/clock.ts'
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
  groupOf,
  isSameCopy,
  type KnownListing,
  type MergedItem,
  mergeGroup,
  newListing,
  newListingOf,
} from './merged-item.ts'
import { type SourceHint, SourceReader } from './source-reader.ts'
import { type Outcome, rankSources } from './sources.ts'

export type ResumePoint = {
  after: { position: Micros; rank: number; listingId: string }
  /** Later positions count as this one, on every page. */
  cap: Micros
  hints: Readonly<Record<string, SourceHint>>
}

/**
 * What one page of 200 yields: it overlaps the page before by ten, and its last listing shows where a tie
 * ends.
 */
const NEXT_ROUND = 189

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
  readonly #lookahead = new Map<string, Copy | Copy[]>()
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

  /** Fewer than `count` only at the end. An abort with a `SourceError` fails the pending sources only. */
  async take(count: number, signal: AbortSignal): Promise<MergedItem[]> {
    const taken: MergedItem[] = []
    while (taken.length < count) {
      taken.push(...this.#merge(count - taken.length))
      if (taken.length >= count || this.#isDone) break
      await this.#readRound(count - taken.length, signal)
    }
    return taken
  }

  /** Empty only at the end. */
  async takeRound(signal: AbortSignal): Promise<MergedItem[]> {
    for (;;) {
      const taken = this.#merge(Number.POSITIVE_INFINITY)
      if (taken.length > 0 || this.#isDone) return taken
      await this.#readRound(NEXT_ROUND, signal)
    }
  }

  /** As far as known without reading. It may consume the next listing, so call it last. */
  hasMore(): boolean {
    return this.#mergeAll(1).length > 0 || !this.#isDone
  }

  get #isDone(): boolean {
    return this.#readers.every(({ isEnded, head }) => isEnded && head === undefined)
  }

  async #readRound(wanted: number, signal: AbortSignal): Promise<void> {
    const count = this.#hasRead ? NEXT_ROUND : wanted
    this.#hasRead = true
    const pending = this.#readers.filter(({ needsReading }) => needsReading)
    try {
      const reads = pending.map((reader) => reader.read(this.#query, count, signal))
      await raceAbortAfterTick(Promise.all(reads), signal)
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      for (const reader of pending) reader.giveUp(error)
    }
    const filled = this.#readers.filter(({ isEmpty }) => !isEmpty)
    this.#hasNoCopies = filled.length <= 1 && filled[0]?.source.mayRepeat !== true
    if (!this.#hasNoCopies) for (const reader of pending) this.#index(reader)
  }

  #index(reader: SourceReader): void {
    for (const item of reader.lookahead) {
      const copy = { item, reader }
      const known = this.#lookahead.get(item.listingId)
      if (known === undefined) {
        this.#lookahead.set(item.listingId, copy)
        continue
      }
      this.#repeated.add(item.listingId)
      if (Array.isArray(known)) known.push(copy)
      else this.#lookahead.set(item.listingId, [known, copy])
    }
  }

  #merge(count: number): MergedItem[] {
    const { trace } = this.#query
    if (trace?.begin === undefined || !this.#hasRead) return this.#mergeAll(count)
    const attributes = ({ length }: MergedItem[]) => ({ 'entrepot.merge.items': length })
    return inSpan(trace, 'merge', () => this.#mergeAll(count), attributes)
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
      const own = reader.positionOf(head)
      if (own <= position) continue
      position = own
      foremost = reader
    }
    return foremost
  }

  #visit(copy: Copy & { reader: SourceReader }): MergedItem | null {
    const { item, reader } = copy
    const { listingId } = item
    this.#after = { position: reader.positionOf(item), rank: reader.rank, listingId }
    if (this.#hasNoCopies) return this.#emit(copy, [], NO_LISTINGS)
    const others = this.#othersOf(copy)
    const listings = this.#emitted.get(listingId) ?? this.#listingsBefore([copy, ...others])
    const known = listings.find((listing) => belongs(item, listing))
    if (known !== undefined) addCopy(known, item)
    const all = known === undefined ? [...listings, newListingOf(copy, others, listings)] : listings
    if (others.length > 0 || this.#mayCome(reader)) this.#emitted.set(listingId, all)
    else this.#emitted.delete(listingId)
    if (known === undefined) return this.#emit(copy, others, listings)
    this.#duplicates.add(copyKey(copy))
    return null
  }

  /** Copies that were not visited, as far as they were read or can be looked up. */
  #othersOf({ item, reader }: Copy & { reader: SourceReader }): Copy[] {
    const { listingId } = item
    const read = this.#lookahead.get(listingId)
    this.#lookahead.delete(listingId)
    const others = Array.isArray(read) ? read.filter((copy) => copy.item !== item) : []
    if (others.length > 0) this.#lookahead.set(listingId, others.length === 1 ? others[0]! : [...others])
    for (const other of this.#readers) {
      if (other === reader) continue
      for (const found of other.find(listingId))
        if (!others.some((copy) => copy.reader === other && isSameCopy(copy.item, found)))
          others.push({ item: found, reader: other })
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
      .filter((copy) => comparePlaces(placeOf(copy), start.after) <= 0)
      .filter(({ item, reader: { rank } }) => this.#ranked[rank]!.provesVisit(item))
      .sort(byPlace)
    const listings: KnownListing[] = []
    for (const copy of before) {
      const known = listings.find((listing) => belongs(copy.item, listing))
      if (known === undefined) listings.push(newListingOf(copy, copies, listings))
      else addCopy(known, copy.item)
    }
    return listings
  }

  /** Includes sources that were whole: their next Reading may be of another moment. */
  #mayCome(own: SourceReader): boolean {
    const canBring = (reader: SourceReader): boolean => reader !== own || reader.source.mayRepeat === true
    return this.#readers.some((reader) => canBring(reader) && !reader.isEnded)
  }

  #emit(copy: Copy, others: readonly Copy[], listings: readonly KnownListing[]): MergedItem | null {
    const isAlone = others.length === 0 && listings.length === 0
    const { group, isConflict } = isAlone
      ? { group: [copy], isConflict: false }
      : groupOf(copy, others, listings)
    const position = copy.reader.positionOf(copy.item)
    const merged = mergeGroup(group, { ranked: this.#sources, conflict: isConflict, position })
    if (merged === null) return null
    const start = this.#start?.after
    // Copies before the start were visited on earlier pages.
    for (const other of group)
      if (other !== copy && (start === undefined || comparePlaces(placeOf(other), start) > 0))
        this.#duplicates.add(copyKey(other))
    return merged
  }

  #duplicatesInLookahead(): number {
    let count = 0
    for (const listingId of new Set([...this.#repeated, ...this.#emitted.keys()])) {
      const copies = [this.#lookahead.get(listingId) ?? []].flat()
      const emitted = this.#emitted.get(listingId) ?? NO_LISTINGS
      const listings = emitted.map((listing) => ({ ...listing, storefronts: [...listing.storefronts] }))
      for (const copy of copies.sort(byPlace)) {
        const known = listings.find((listing) => belongs(copy.item, listing))
        if (known === undefined) listings.push(newListing(copy.item))
        else if (!this.#duplicates.has(copyKey(copy))) count++
        if (known !== undefined) addCopy(known, copy.item)
      }
    }
    return count
  }
}

const NO_LISTINGS: readonly KnownListing[] = []

type Place = ResumePoint['after']

function placeOf({ item, reader }: Copy): Place {
  return { position: reader.positionOf(item), rank: reader.rank, listingId: item.listingId }
}

function comparePlaces(a: Place, b: Place): number {
  if (a.position !== b.position) return b.position - a.position
  if (a.rank !== b.rank) return a.rank - b.rank
  return a.listingId < b.listingId ? -1 : a.listingId > b.listingId ? 1 : 0
}

function byPlace(a: Copy, b: Copy): number {
  return comparePlaces(placeOf(a), placeOf(b))
}

/** Ties of better sources precede the resume point; ties of worse sources follow it. */
function startOf(from: ResumePoint | null, rank: number) {
  if (from === null) return null
  const { position, listingId, rank: last } = from.after
  return { position, listingId: rank === last ? listingId : rank < last ? null : '' }
}
