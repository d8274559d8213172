import { untilLastWord } from '../domain/deadline.ts'
import type { Item, NamedSource, Page, Stretch } from '../domain/page.ts'
import { type ListingQuery, MAX_LIMIT } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import type { Micros } from '../domain/timestamp.ts'
import type { Outcome } from './fan-out.ts'
import { comparePlaces, type Place, placeIn } from './place.ts'
import { saidSoFar } from './said.ts'
import { Waiting } from './waiting.ts'

/** Listings read in one go. */
export const STRETCH = MAX_LIMIT
/** Most listings of one instant for whose end a source is read on before any of them is shown. */
const MAX_OF_ONE_INSTANT = 2000
/** Most stretches in a row that lead no further: a Registry that changes meanwhile has few of them. */
const MAX_IDLE_STRETCHES = 10

/** Offsets of a source: read from one, up to the other. */
export type Span = { from: number; to: number }

/**
 * Where a track begins: behind a place. `isCrowd`: all of that instant is taken again, since a Registry leaves listings
 * of one instant in any order and not all of these had been read.
 */
export type TrackStart = { behind: Place | null; isCrowd: boolean; span: Span }

const FROM_THE_TOP: TrackStart = { behind: null, isCrowd: false, span: { from: 0, to: 0 } }

/**
 * One source as a walk goes through it, newest first. Registries page by offset, and what is published or deleted
 * meanwhile moves everything behind it: so every stretch begins with the last listing of the one before, and where
 * that has gone the track steps back until it sees known ground.
 */
export class Track {
  readonly source: NamedSource
  readonly rank: number
  /** No more is to come: the source is at its end, or has failed. */
  isEnded = false
  /** What it said so far: the first page, with the oldest age and the worst state of all. `null` before it did. */
  page: Page | null = null
  failure: SourceError | null = null
  readonly #query: ListingQuery
  readonly #waiting: Waiting
  #offset: number
  /** Everything newer than this has been read; `null` where nothing has. */
  #floor: Micros | null
  /** Ids read at that very instant. */
  #atFloor = new Set<string>()
  /** Where the walk goes on from; what stands before it is no concern of ours. */
  readonly #behind: Place | null
  readonly #isCrowd: boolean
  /** Whether the next stretch can be taken as it comes. */
  #isSure: boolean
  #oldest = Number.POSITIVE_INFINITY
  #idle = 0
  /** Up to this offset a track that stepped back sees again what it has seen. */
  #known = 0
  /** Offset of the stretch that was read last. */
  #last: number
  /** To be read up to here before anything is shown. */
  readonly #target: number
  #elapsedMs = 0

  constructor(
    source: NamedSource,
    query: ListingQuery,
    rank: number,
    { behind, isCrowd, span: { from, to } }: TrackStart = FROM_THE_TOP,
  ) {
    this.source = source
    this.#query = query
    this.rank = rank
    this.#waiting = new Waiting(rank)
    this.#behind = behind
    this.#isCrowd = isCrowd
    this.#floor = behind?.createdAt ?? null
    this.#offset = from
    this.#last = from
    this.#target = to
    this.#isSure = from === 0
  }

  /** All listings newer than this are here. */
  get horizon(): Micros {
    if (this.isEnded) return Number.NEGATIVE_INFINITY
    return this.page === null || this.#floor === null ? Number.POSITIVE_INFINITY : this.#floor
  }

  /** The next copy that was read. */
  get head(): Item | undefined {
    return this.#waiting.head
  }

  /** Removes and returns it. */
  take(): Item {
    return this.#waiting.take()
  }

  /** Copies with that id that are known to be still to come; of a source that is known whole, all of them. */
  ahead(listingId: string): readonly Item[] {
    const waiting = this.#waiting.of(listingId)
    const found = this.isEnded ? NONE : (this.page?.find?.(listingId, waiting) ?? NONE)
    return found.length === 0 ? waiting : [...waiting, ...found.filter((item) => this.#isNew(item))]
  }

  /** Whether more is to come, and all of it can be looked up. */
  get isWhole(): boolean {
    return !this.isEnded && this.page?.find !== undefined
  }

  /** What would have to be read again to stand here. */
  get span(): Span {
    return { from: this.#waiting.firstAt(this.#last), to: this.#offset }
  }

  get outcome(): Outcome {
    const result = this.failure ?? this.page ?? new SourceError('budget_spent', 'was not asked')
    return { source: this.source, elapsedMs: this.#elapsedMs, result }
  }

  /** Reads one stretch, unless it is certain what is next here. Failures are kept, not thrown. */
  async advance(signal: AbortSignal): Promise<void> {
    if (this.isReady) return
    const started = performance.now()
    try {
      do {
        const at = this.#offset
        if (await this.#read(signal)) this.#idle = 0
        else if (at >= this.#known) this.#idle++
        if (this.#idle > MAX_IDLE_STRETCHES)
          throw new SourceError('bad_envelope', `${this.source.name}: repeats its pages`)
      } while (!this.isEnded && this.#offset < this.#target)
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      this.failure = error
      this.isEnded = true
    } finally {
      this.#elapsedMs += performance.now() - started
    }
  }

  /** Nothing more has to be read to know what is next here. */
  get isReady(): boolean {
    return this.isEnded || this.#isCertain
  }

  get #isCertain(): boolean {
    const { head } = this
    if (head === undefined) return false
    return head.createdAt > this.horizon || this.#atFloor.size > MAX_OF_ONE_INSTANT
  }

  /** @returns whether it led any further */
  async #read(signal: AbortSignal): Promise<boolean> {
    const at = this.#offset
    const query = { ...this.#query, offset: at, limit: STRETCH, reading: 'stretch' } as const
    const page = await untilLastWord(this.source.ask(query, signal), signal)
    const stretch = page.stretch ?? stretchOf(page, at)
    if (!this.#isSure && !this.#joins(stretch)) {
      this.#known = at
      this.#offset = Math.max(0, at - STRETCH * 2 ** this.#idle)
      this.#isSure = this.#offset === 0
      return false
    }
    this.#isSure = true
    this.page = saidSoFar(this.page, page)
    const isNew = this.#take(page.items, at) || (stretch.oldest ?? Number.POSITIVE_INFINITY) < this.#oldest
    this.#settle(page.items, stretch.oldest)
    this.#oldest = Math.min(this.#oldest, stretch.oldest ?? this.#oldest)
    this.isEnded = stretch.isLast || stretch.passed === 0
    // One listing twice, so that the next stretch is seen to follow this one.
    this.#last = at
    this.#offset = at + Math.max(1, stretch.passed - 1)
    this.#isSure = stretch.passed <= 1
    return isNew
  }

  /** Whether a stretch begins with, or before, what has been read already. */
  #joins({ first, passed }: Stretch): boolean {
    if (first === null || this.#floor === null) return passed > 0
    return (
      first.createdAt > this.#floor || (first.createdAt === this.#floor && this.#atFloor.has(first.listingId))
    )
  }

  #take(items: readonly Item[], at: number): boolean {
    const fresh = items.filter((item) => this.#isNew(item))
    if (fresh.length > 0) this.#waiting.add(fresh, at)
    return fresh.length > 0
  }

  #isNew(item: Item): boolean {
    if (this.#isBefore(item)) return false
    if (this.#floor === null || item.createdAt < this.#floor) return true
    return item.createdAt === this.#floor && !this.#atFloor.has(item.listingId)
  }

  #isBefore(item: Item): boolean {
    if (this.#behind === null) return false
    if (this.#isCrowd) return item.createdAt > this.#behind.createdAt
    return comparePlaces(placeIn(item, this.rank), this.#behind) <= 0
  }

  #settle(items: readonly Item[], oldest: Micros | null): void {
    if (oldest === null) return
    if (this.#floor === null || oldest < this.#floor) {
      this.#floor = oldest
      this.#atFloor = new Set()
    }
    for (const item of items) if (item.createdAt === this.#floor) this.#atFloor.add(item.listingId)
  }
}

const NONE: readonly Item[] = []

/** A source that answers from memory counts in matches, and leaves nothing out. */
const stretchOf = ({ items, total }: Page, offset: number): Stretch => ({
  passed: items.length,
  first: items[0] ?? null,
  oldest: items.at(-1)?.createdAt ?? null,
  isLast: offset + items.length >= total,
})
