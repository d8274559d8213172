import type { ListingQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { type MergedPosition, positionIn } from '../domain/source/position.ts'
import type { Item } from '../domain/source/reading.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { Micros } from '../domain/timestamp.ts'
import { inSpan } from '../domain/trace.ts'
import { type Deciders, isReadable, type OpenDeciders } from './deciders.ts'
import { type MergedItem, mergeItem } from './merged-item.ts'
import { Repeats } from './repeats.ts'
import { type SourceHint, SourceReader } from './source-reader.ts'
import { type Outcome, rankSources } from './sources.ts'

export type ResumePoint = {
  /** The last visited copy: the `nth` of its source at that place, of which a gateway may have several. */
  after: MergedPosition
  /** Later positions count as this one, on every page. */
  cap: Micros
  hints: Readonly<Record<string, SourceHint>>
}

/**
 * New listings of one page of 200: it overlaps the page before by ten, and its last listing shows where a tie
 * ends.
 */
export const ROUND = 189
/** Listings that are read of a source in memory beyond twice its even share of a page. */
const FIRST_SPARE = 4

/**
 * Newest first. Each source gives its listings in their own order, less those that a better source has; the sequence is
 * the merge of these streams, by position, then rank, then `listing_id`. So a listing has the place of its best copy,
 * whatever the page, and a worse source cannot move it.
 */
export class MergedSequence {
  readonly #query: ListingQuery
  readonly #sources: readonly NamedSource[]
  readonly #ranked: readonly NamedSource[]
  readonly #start: ResumePoint | null
  readonly #cap: Micros
  readonly #skip: number
  readonly #openDeciders: OpenDeciders
  #opened: { deciders: Deciders; byRank: readonly SourceReader[] } | null = null
  readonly #repeats = new Repeats()
  #after: MergedPosition | null

  constructor(
    sources: readonly NamedSource[],
    query: ListingQuery,
    {
      cap,
      from = null,
      skip = 0,
      openDeciders,
    }: {
      cap: Micros
      from?: ResumePoint | null
      /** Listings of each source to begin behind. */
      skip?: number | undefined
      openDeciders: OpenDeciders
    },
  ) {
    this.#query = query
    this.#start = from
    this.#after = from?.after ?? null
    this.#cap = from?.cap ?? cap
    this.#skip = skip
    this.#sources = sources
    this.#ranked = rankSources(sources)
    this.#openDeciders = openDeciders
  }

  /** In the order of the configuration. */
  get outcomes(): Outcome[] {
    const readers = this.#opened?.byRank ?? []
    return this.#sources
      .flatMap((source) => readers.filter((one) => one.source === source))
      .map(({ outcome }) => outcome)
  }

  /** `null` before the first listings are taken. */
  get deciders(): Deciders | null {
    return this.#opened?.deciders ?? null
  }

  get resumePoint(): ResumePoint | null {
    if (this.#after === null) return null
    const hints = Object.fromEntries(
      (this.#opened?.byRank ?? []).map((reader) => [reader.source.name, reader.hint]),
    )
    return { after: this.#after, cap: this.#cap, hints }
  }

  /** Matches of all sources, less the hidden ones: exact where every outcome `isWhole`. */
  get total(): number {
    return this.outcomes.reduce(
      (sum, { result }) => sum + (result instanceof SourceError ? 0 : result.total),
      0,
    )
  }

  /** Fewer than `least` only at the end. An abort with a `SourceError` fails the pending sources only. */
  async take(count: number, signal: AbortSignal, least = count): Promise<MergedItem[]> {
    const isFirst = this.#opened === null
    this.#opened ??= await this.#open(signal)
    const { byRank } = this.#opened
    const taken: MergedItem[] = []
    let share = isFirst ? firstShare(count, byRank.length) : Number.POSITIVE_INFINITY
    let size = count
    while (taken.length < least) {
      const pending = byRank.filter(({ needsReading }) => needsReading)
      await Promise.all(
        pending.map((reader) => reader.read(share < size && reader.isInMemory ? share : size, signal)),
      )
      share = Number.POSITIVE_INFINITY
      size = ROUND
      const copies = this.#traced(() => this.#visit(count - taken.length))
      if (copies.length === 0 && byRank.every(isDone)) break
      taken.push(...(await this.#show(copies, signal)))
    }
    return taken
  }

  /** As far as known without reading. It may consume the next listing, so call it last. */
  hasMore(): boolean {
    return this.#visit(1).length > 0 || !(this.#opened?.byRank ?? []).every(isDone)
  }

  async #open(signal: AbortSignal) {
    const deciders = await this.#openDeciders(this.#ranked, this.#query, signal)
    const byRank = this.#ranked.map((source, rank) => {
      const hint = this.#start?.hints[source.name] ?? { offset: this.#skip }
      const after = positionIn(rank, this.#start?.after ?? null)
      return new SourceReader(source, rank, { cap: this.#cap, after, hint, deciders })
    })
    return { deciders, byRank }
  }

  #traced(visit: () => Visited[]): Visited[] {
    return inSpan(this.#query.trace, 'merge', visit, ({ length }) => ({ 'entrepot.merge.items': length }))
  }

  /** Takes copies in order until `count` are not known to be hidden, or a source has to be read first. */
  #visit(count: number): Visited[] {
    const copies: Visited[] = []
    while (copies.length < count) {
      const reader = this.#foremost()
      if (reader === null) break
      const item = reader.take()
      this.#pass(item, reader.rank)
      // A source that was read whole has counted its hidden ones, unreadable or not, and those that are left out.
      const hiding = this.#opened!.deciders.hidingOf(item, reader.rank)
      if (hiding !== null) reader.addHidden(hiding)
      else if (item.isLeftOut) reader.addLeftOut()
      else if (!isReadable(item)) reader.addInvalid()
      else copies.push({ item, rank: reader.rank, reader })
    }
    return copies
  }

  /** `null` where a source has to be read first, and at the end. */
  #foremost(): SourceReader | null {
    let foremost: SourceReader | null = null
    let position = Number.NEGATIVE_INFINITY
    for (const reader of this.#opened?.byRank ?? []) {
      const { head } = reader
      if (head === undefined) {
        if (reader.isEnded) continue
        return null
      }
      const capped = Math.min(head.position, this.#cap)
      if (capped <= position) continue
      position = capped
      foremost = reader
    }
    return foremost
  }

  #pass({ position, listingId }: Item, rank: number): void {
    const capped = Math.min(position, this.#cap)
    const last = this.#after
    const isSame =
      last !== null && last.position === capped && last.rank === rank && last.listingId === listingId
    this.#after = { position: capped, rank, listingId, nth: isSame ? last.nth + 1 : 1 }
  }

  async #show(copies: readonly Visited[], signal: AbortSignal): Promise<MergedItem[]> {
    const { deciders } = this.#opened!
    if (deciders.mayLookUp) await deciders.lookUp(copies, signal)
    const items: MergedItem[] = []
    for (const { item, rank, reader } of copies) {
      const verdict = deciders.judge(item, rank)
      if (verdict === null) reader.addHidden(deciders.hidingOf(item, rank))
      else if (this.#repeats.add(item, reader.source, verdict)) reader.addHidden()
      else items.push(mergeItem(item, { ranked: this.#ranked, rank, isStale: reader.isStale }, verdict))
    }
    return items
  }
}

type Visited = { item: Item; rank: number; reader: SourceReader }

/** Reading a source in memory again is cheap; making items that are not shown is not. */
function firstShare(count: number, sources: number): number {
  return Math.ceil((2 * count) / sources) + FIRST_SPARE
}

function isDone({ isEnded, head }: SourceReader): boolean {
  return isEnded && head === undefined
}
