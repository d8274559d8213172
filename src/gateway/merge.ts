import type { ListingQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { type MergedPosition, placeOf, positionIn } from '../domain/source/position.ts'
import { SourceError } from '../domain/source/source-error.ts'
import type { Micros } from '../domain/timestamp.ts'
import { inSpan } from '../domain/trace.ts'
import type { Deciders, OpenDeciders } from './deciders.ts'
import { type MergedItem, mergeItem } from './merged-item.ts'
import { Repeats } from './repeats.ts'
import { SourceReader } from './source-reader.ts'
import { type Outcome, rankSources } from './sources.ts'

export type ResumePoint = {
  /** The last visited copy. */
  after: MergedPosition
  /** Later positions count as this one, on every page. */
  cap: Micros
}

/** Listings of one round of a stream. */
export const ROUND = 189
/** Listings that are read of a source beyond twice its even share of a page. */
const FIRST_SPARE = 4

type SequenceOptions = {
  cap: Micros
  from?: ResumePoint | null
  /** Listings of each source to begin behind. */
  skip?: number | undefined
  openDeciders: OpenDeciders
}

/**
 * Newest first. Each source gives its listings in their own order, less those that a better source has; the sequence is
 * the merge of these streams, by position, then rank, then row. So a listing has the place of its best copy, whatever the
 * page, and a worse source cannot move it.
 */
export class MergedSequence {
  readonly #query: ListingQuery
  readonly #sources: readonly NamedSource[]
  readonly #ranked: readonly NamedSource[]
  readonly #cap: Micros
  readonly #skip: number
  readonly #openDeciders: OpenDeciders
  #opened: { deciders: Deciders; byRank: readonly SourceReader[] } | null = null
  readonly #repeats = new Repeats()
  #after: MergedPosition | null

  constructor(
    sources: readonly NamedSource[],
    query: ListingQuery,
    { cap, from = null, skip = 0, openDeciders }: SequenceOptions,
  ) {
    this.#query = query
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

  get resumePoint(): ResumePoint | null {
    return this.#after && { after: this.#after, cap: this.#cap }
  }

  /** Matches of all sources, less the hidden ones. */
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
    let size = isFirst ? Math.min(count, firstShare(count, byRank.length)) : count
    while (taken.length < least) {
      const pending = byRank.filter(({ needsReading }) => needsReading)
      await Promise.all(pending.map((reader) => reader.read(size, signal)))
      size = ROUND
      const items = this.#traced(() => this.#visit(count - taken.length))
      if (items.length === 0 && byRank.every(isDone)) break
      taken.push(...items)
    }
    return taken
  }

  /** As far as known without reading. It may consume the next listing, so call it last. */
  hasMore(): boolean {
    return this.#visit(1).length > 0 || !(this.#opened?.byRank ?? []).every(isDone)
  }

  async #open(signal: AbortSignal) {
    const deciders = await this.#openDeciders(this.#ranked, this.#query, signal)
    const byRank = this.#ranked.map(
      (source, rank) =>
        new SourceReader(source, rank, {
          query: deciders.queryOf(rank),
          cap: this.#cap,
          after: positionIn(rank, this.#after),
          skip: this.#skip,
        }),
    )
    return { deciders, byRank }
  }

  #traced(visit: () => MergedItem[]): MergedItem[] {
    return inSpan(this.#query.trace, 'merge', visit, ({ length }) => ({ 'entrepot.merge.items': length }))
  }

  /** Takes copies in order until `count` are shown, or a source has to be read first. */
  #visit(count: number): MergedItem[] {
    const items: MergedItem[] = []
    while (items.length < count) {
      const reader = this.#foremost()
      if (reader === null) break
      const { rank, isStale } = reader
      const item = reader.take()
      this.#after = { ...placeOf(item), position: Math.min(item.position, this.#cap), rank }
      // What has got a better copy since the source was read.
      const verdict = this.#opened!.deciders.judge(item, rank)
      if (verdict === null) continue
      if (item.isLeftOut) reader.addLeftOut()
      else if (!this.#repeats.add(item, verdict))
        items.push(mergeItem(item, { ranked: this.#ranked, rank, isStale }, verdict))
    }
    return items
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
}

/** Reading again is cheap; making items that are not shown is not. */
function firstShare(count: number, sources: number): number {
  return Math.ceil((2 * count) / sources) + FIRST_SPARE
}

function isDone({ isEnded, head }: SourceReader): boolean {
  return isEnded && head === undefined
}
