import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Reader } from '../domain/api-key.ts'
import { withDeadline } from '../domain/deadline.ts'
import type { MergedItem } from '../domain/merge.ts'
import type { NamedSource } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import type { Cursors, Position } from './cursor.ts'
import {
  type Asking,
  countReturned,
  describeOutcomes,
  type MergedAnswer,
  onlyLocal,
  refuseUnusable,
} from './fan-out.ts'
import { comparePlaces, type Place, placeIn, placeOf, rankSources } from './place.ts'
import { Shown } from './shown.ts'
import { STRETCH } from './track.ts'
import { visibleSources } from './visible.ts'
import { Walk } from './walk.ts'

/** Listings of all walks together that are remembered as shown, some 200 bytes each. */
const MAX_REMEMBERED = 500_000

export type PagingOptions = { sources: readonly NamedSource[]; budgetMs: number; cursors: Cursors }

/**
 * Pages of one merged sequence, one behind the other (`contract.md` 3.1, `cursor`). Each goes on where the last one
 * ended, at a cost that does not grow with how far that is. So that a copy of a listing that was shown is not shown
 * again, what was shown is remembered; a replica that does not remember goes through the sequence again, up to there.
 */
export class Paging {
  readonly #options: PagingOptions
  readonly #walks = new LRUCache<string, Shown>({
    maxSize: MAX_REMEMBERED,
    sizeCalculation: ({ size }) => size + 1,
  })

  constructor(options: PagingOptions) {
    this.#options = options
  }

  /** The cursor behind a page that was asked for by offset; `undefined` where nothing is behind it. */
  cursorBehind(answer: MergedAnswer, query: ListingQuery, asking: Asking): string | undefined {
    const { items, shown, total, outcomes } = answer
    if (items.length === 0 || asking.isLoop || query.offset + items.length >= total) return undefined
    const sources = outcomes.map(({ source }) => source)
    const ranks = rankSources(sources)
    const behind = lastCertain(answer, ranks)
    const remembered = new Shown()
    for (const [n, { item }] of shown.entries()) remembered.add(item, n)
    const spans = Object.fromEntries(
      outcomes.map(({ source, result }) => {
        const passed =
          result instanceof SourceError
            ? 0
            : result.items.filter(
                (item) => comparePlaces(placeIn(item, ranks.get(source.name) ?? 0), behind) <= 0,
              ).length
        const skipped = sources.length === 1 ? query.offset : 0
        const from = passed + skipped < STRETCH ? 0 : passed + skipped - 1
        return [source.name, { from, to: from }]
      }),
    )
    const walk = this.#remember(remembered)
    const nth = sources.length === 1 ? query.offset + items.length : shown.length
    return this.#seal({ behind, spans, nth, total, walk }, sources, query)
  }

  /** The page behind a cursor. Refuses as `fanOut` does; `bad_request` for a cursor that is not of this question. */
  async pageBehind(
    cursor: string,
    query: ListingQuery,
    { reader, signal, asking }: { reader: Reader; signal: AbortSignal; asking: Asking },
  ): Promise<MergedAnswer & { nextCursor: string | undefined }> {
    const visible = visibleSources(this.#options.sources, reader, asking.named)
    const sources = asking.isLoop ? visible.map(onlyLocal) : visible
    const position = this.#options.cursors.open(cursor, questionOf(query, sources))
    const ms = asking.budgetMs ?? this.#options.budgetMs
    const late = new SourceError('timeout', `no answer within the budget of ${ms} ms`)
    return withDeadline({ ms, late, caller: signal }, async (deadline) => {
      const known = this.#walks.get(position.walk)
      const { shown, nth } =
        known === undefined
          ? await retrace(sources, query, position.behind, deadline)
          : { shown: known, nth: position.nth }
      const walk = new Walk(sources, query, { ...position, shown, nth })
      const items = await collect(walk, query.limit, deadline)
      const { nth: end, spans } = walk
      const more = await walk.next(1, deadline)
      const { outcomes } = walk
      const described = describeOutcomes(outcomes, countReturned(items), query.explain)
      refuseUnusable({ ...described, outcomes, total: items.length }, asking)
      const answer = { items, shown: items, total: position.total, outcomes, ...described }
      const last = items.at(-1)
      if (last === undefined || more.length === 0) return { ...answer, nextCursor: undefined }
      const remembered = known === undefined ? this.#remember(shown) : this.#keep(position.walk, shown)
      const next = {
        behind: placeOf(last, walk.ranks),
        spans,
        nth: end,
        total: position.total,
        walk: remembered,
      }
      return { ...answer, nextCursor: this.#seal(next, sources, query) }
    })
  }

  #remember(shown: Shown): string {
    return this.#keep(randomBytes(9).toString('base64url'), shown)
  }

  #keep(walk: string, shown: Shown): string {
    this.#walks.set(walk, shown)
    return walk
  }

  #seal(position: Position, sources: readonly NamedSource[], query: ListingQuery): string {
    return this.#options.cursors.seal(position, questionOf(query, sources))
  }
}

/** What a cursor is bound to: everything but the size of its pages. */
const questionOf = ({ status, publisher, filters }: ListingQuery, sources: readonly NamedSource[]): string =>
  JSON.stringify([
    status,
    publisher,
    filters.filter(([, value]) => value !== ''),
    sources.map(({ name, priority }) => [name, priority]),
  ])

/**
 * The last listing of a page behind which everything is still to come. A source of which only the newest listings
 * were read may have more that belong between the last ones shown: those stand behind it too, and count as shown.
 */
const lastCertain = ({ items, outcomes }: MergedAnswer, ranks: ReadonlyMap<string, number>): Place => {
  const horizons = outcomes.map(({ result }) => {
    if (result instanceof SourceError) return Number.NEGATIVE_INFINITY
    const read = [...result.items, ...(result.behind ?? [])]
    return read.length >= result.total ? Number.NEGATIVE_INFINITY : (read.at(-1)?.createdAt ?? 0)
  })
  const horizon = Math.max(...horizons)
  const last = items.findLast(({ item }) => item.createdAt > horizon)
  if (last !== undefined) return placeOf(last, ranks)
  return { createdAt: items[0]!.item.createdAt + 1, rank: -1, listingId: '' }
}

const collect = async (walk: Walk, limit: number, signal: AbortSignal): Promise<MergedItem[]> => {
  const items: MergedItem[] = []
  while (items.length < limit) {
    const some = await walk.next(limit - items.length, signal)
    if (some.length === 0) return items
    items.push(...some)
  }
  return items
}

/** What somebody who stands there has seen. */
const retrace = async (
  sources: readonly NamedSource[],
  query: ListingQuery,
  behind: Place,
  signal: AbortSignal,
): Promise<{ shown: Shown; nth: number }> => {
  const walk = new Walk(sources, query)
  for (let nth = 0; ; ) {
    const some = await walk.next(STRETCH, signal)
    const seen = some.filter((merged) => comparePlaces(placeOf(merged, walk.ranks), behind) <= 0).length
    nth += seen
    if (seen < some.length || some.length === 0) return { shown: walk.shown, nth }
  }
}
