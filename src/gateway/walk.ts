import { type MergedItem, merge } from '../domain/merge.ts'
import type { Item, NamedSource, Page } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { Outcome } from './fan-out.ts'
import { comparePlaces, type Place, placeOf, rankSources } from './place.ts'
import { Shown } from './shown.ts'
import { type Span, Track } from './track.ts'

/** Where a walk begins: behind a listing, at about these places of the sources, after so many that were shown. */
export type WalkStart = {
  behind: Place
  spans: Readonly<Record<string, Span>>
  shown: Shown
  nth: number
}

/**
 * Goes through the merged sequence of all sources (`contract.md` 3.1) from end to end, or on from a place: in rounds
 * of one stretch a source, holding no more than that of each. A listing comes once, at its place in the best source
 * that is known, at that point, to carry it. A source that fails is left behind, and the others go on.
 */
export class Walk {
  readonly ranks: ReadonlyMap<string, number>
  readonly shown: Shown
  /** Listings shown so far, those before the start included. */
  nth: number
  /** Copies of listings that were folded into others. */
  copies = 0
  readonly #tracks: readonly Track[]

  constructor(sources: readonly NamedSource[], query: ListingQuery, start?: WalkStart) {
    this.ranks = rankSources(sources)
    this.shown = start?.shown ?? new Shown()
    this.nth = start?.nth ?? 0
    this.#tracks = sources.map((source) => {
      const from = start && { behind: start.behind, span: start.spans[source.name] ?? TOP }
      return new Track(source, query, this.ranks.get(source.name) ?? 0, from)
    })
  }

  get isDone(): boolean {
    return this.#tracks.every(({ isEnded, waiting }) => isEnded && waiting.length === 0)
  }

  /** What became of every source so far, in the order of the configuration. */
  get outcomes(): Outcome[] {
    return this.#tracks.map(({ outcome }) => outcome)
  }

  /** What would have to be read of each source to go on behind what has been shown. */
  get spans(): Record<string, Span> {
    return Object.fromEntries(this.#tracks.map((track) => [track.source.name, track.span]))
  }

  /**
   * The next listings, at least one unless the walk is done, at most `limit`. What is left over comes the next time.
   * Sources that are out when the signal aborts with a `SourceError` have failed.
   */
  async next(limit: number, signal: AbortSignal): Promise<MergedItem[]> {
    while (!this.isDone) {
      const shown = this.#showCertain(limit)
      if (shown.length > 0) return shown
      await Promise.all(this.#tracks.map((track) => track.advance(signal)))
    }
    return []
  }

  #showCertain(limit: number): MergedItem[] {
    const horizon = Math.max(...this.#tracks.map((track) => track.horizon))
    const isNextKnown = this.#tracks.some(({ waiting: [next] }) => next && next.item.createdAt > horizon)
    if (!isNextKnown && !this.#tracks.every(({ isReady }) => isReady)) return []
    const { items } = merge(this.#tracks.map(answerOf), { offset: 0, limit: Number.POSITIVE_INFINITY })
    const shown: MergedItem[] = []
    let last: Place | null = null
    for (const merged of items) {
      const place = placeOf(merged, this.ranks)
      if (shown.length === limit || place.createdAt <= horizon) break
      last = place
      if (this.shown.has(merged.item, this.nth)) {
        this.copies++
        continue
      }
      this.copies += merged.alsoIn.length
      shown.push(merged)
    }
    if (last === null) return this.#showCrowd(items, limit)
    this.#leaveBehind(last, items)
    this.#remember(shown)
    return shown
  }

  /** Too many of one instant to be read to their end before any is shown. */
  #showCrowd(items: readonly MergedItem[], limit: number): MergedItem[] {
    const [first] = items
    if (first === undefined) return []
    const crowd = items.filter(({ item }) => item.createdAt === first.item.createdAt).slice(0, limit)
    const shown = crowd.filter(({ item }) => !this.shown.has(item, this.nth))
    this.#leaveBehind(placeOf(crowd.at(-1)!, this.ranks), items)
    this.#remember(shown)
    return shown
  }

  /** Copies can only come from another source that is not at its end. */
  #remember(shown: readonly MergedItem[]): void {
    const open = this.#tracks.filter(({ isEnded, waiting }) => !isEnded || waiting.length > 0)
    for (const { item, registry } of shown) {
      if (open.some(({ source }) => source.name !== registry)) this.shown.add(item, this.nth)
      this.nth++
    }
  }

  /** Drops what stands before a place, except copies of what is yet to be shown. */
  #leaveBehind(last: Place, items: readonly MergedItem[]): void {
    const later = items.filter((merged) => comparePlaces(placeOf(merged, this.ranks), last) > 0)
    const awaited = new Set(
      later.flatMap(({ item, alsoIn }) => alsoIn.map((name) => keyOf(name.split('/', 1)[0]!, item))),
    )
    for (const track of this.#tracks) {
      const { name } = track.source
      const rank = this.ranks.get(name) ?? 0
      const isBefore = ({ item }: { item: Item }): boolean =>
        comparePlaces({ createdAt: item.createdAt, rank, listingId: item.listingId }, last) <= 0
      const passed = [...track.passedBy, ...track.waiting].filter(isBefore)
      track.passedBy = passed.filter(({ item }) => awaited.has(keyOf(name, item)))
      track.waiting = track.waiting.filter((waiting) => !isBefore(waiting))
    }
  }
}

const TOP: Span = { from: 0, to: 0 }

const keyOf = (source: string, { listingId }: Item): string => `${source} ${listingId}`

const answerOf = ({ source, page, passedBy, waiting }: Track): { source: NamedSource; page: Page } => {
  const items = [...passedBy, ...waiting].map(({ item }) => item)
  return { source, page: { total: items.length, ageSeconds: 0, stale: page?.stale ?? false, items } }
}
