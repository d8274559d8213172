import type { Item, NamedSource } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { Micros } from '../domain/timestamp.ts'
import type { Outcome } from './fan-out.ts'
import { comparePlaces, type Place, placeIn, rankSources } from './place.ts'
import { type Span, Track } from './track.ts'

/** One copy of a listing, and the source that it came from. */
export type Copy = { item: Item; track: Track }

/** Where to begin: behind a place, at about these offsets of the sources. See `TrackStart`. */
export type CopiesStart = { behind: Place; isCrowd: boolean; spans: Readonly<Record<string, Span>> }

/**
 * The copies of all sources in the order of their places, each as often as it stands somewhere: in rounds of one
 * stretch a source, holding no more than that of each. A source that fails is left behind, and the others go on.
 */
export class Copies {
  readonly #tracks: readonly Track[]
  /** All that is newer than this is here, of every source. */
  #horizon: Micros = Number.POSITIVE_INFINITY
  /** The instant of so many listings that they are taken before all of them are read. */
  #crowdAt: Micros | null = null

  constructor(sources: readonly NamedSource[], query: ListingQuery, start: CopiesStart | null) {
    const ranks = rankSources(sources)
    this.#tracks = sources.map((source) => {
      const rank = ranks.get(source.name) ?? 0
      if (start === null) return new Track(source, query, rank)
      return new Track(source, query, rank, { ...start, span: start.spans[source.name] ?? TOP })
    })
  }

  get isDone(): boolean {
    return this.#tracks.every(({ isEnded, head }) => isEnded && head === undefined)
  }

  /** What became of every source so far, in the order of the configuration. */
  get outcomes(): Outcome[] {
    return this.#tracks.map(({ outcome }) => outcome)
  }

  /** What would have to be read of each source to go on from here. */
  get spans(): Record<string, Span> {
    return Object.fromEntries(this.#tracks.map((track) => [track.source.name, track.span]))
  }

  /** Whether not all of an instant was read when copies of it were taken. */
  isCrowd(createdAt: Micros): boolean {
    return this.#crowdAt === createdAt
  }

  /** Removes the next copy. `null`: what comes next is not known before `readOn`, or there is none. */
  take(): Copy | null {
    const track = this.#foremost()
    if (track === null || !this.#isCertain(track.head!)) return null
    return { item: track.take(), track }
  }

  /** Copies of that id that are known to be still to come, in their sources' order. */
  ahead(listingId: string): readonly Copy[] {
    let copies: Copy[] | null = null
    for (const track of this.#tracks) {
      for (const item of track.ahead(listingId)) {
        copies ??= []
        copies.push({ item, track })
      }
    }
    return copies ?? NONE
  }

  /** Whether another source may have copies that cannot be known yet. */
  mayHaveMore({ track: own }: Copy): boolean {
    return this.#tracks.some((track) => track !== own && !track.isEnded && !track.isWhole)
  }

  /** Sources that are out when the signal aborts with a `SourceError` have failed. */
  async readOn(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#tracks.map((track) => track.advance(signal)))
    this.#horizon = Math.max(...this.#tracks.map(({ horizon }) => horizon))
  }

  #foremost(): Track | null {
    let foremost: Track | null = null
    for (const track of this.#tracks) {
      const { head } = track
      if (head === undefined) continue
      if (
        foremost === null ||
        comparePlaces(placeIn(head, track.rank), placeIn(foremost.head!, foremost.rank)) < 0
      )
        foremost = track
    }
    return foremost
  }

  #isCertain({ createdAt }: Item): boolean {
    if (createdAt > this.#horizon) return true
    if (!this.#tracks.every(({ isReady }) => isReady)) return false
    // Nobody has to read on, and still nothing is certain: too many of one instant to be read to their end.
    this.#crowdAt = createdAt
    return true
  }
}

const NONE: readonly Copy[] = []

const TOP: Span = { from: 0, to: 0 }
