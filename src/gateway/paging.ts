import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Reader } from '../domain/api-key.ts'
import { withDeadline } from '../domain/deadline.ts'
import type { MergedItem } from '../domain/merge.ts'
import type { NamedSource } from '../domain/page.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import type { Cursors, Position } from './cursor.ts'
import { type Asking, countReturned, describeOutcomes, type MergedAnswer, onlyLocal } from './fan-out.ts'
import { standingBehind } from './first-standing.ts'
import { History } from './history.ts'
import { refuseUnusable } from './refuse-unusable.ts'
import { visibleSources } from './visible.ts'
import { type Standing, Walk } from './walk.ts'

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
  readonly #walks = new LRUCache<string, History>({
    maxSize: MAX_REMEMBERED,
    sizeCalculation: ({ size }) => size + 1,
  })

  constructor(options: PagingOptions) {
    this.#options = options
  }

  /** The cursor behind a page that was asked for by offset; `undefined` where nothing is behind it. */
  cursorBehind(answer: MergedAnswer, query: ListingQuery, asking: Asking): string | undefined {
    const { items, total, outcomes } = answer
    if (items.length === 0 || asking.isLoop || query.offset + items.length >= total) return undefined
    const { standing, history } = standingBehind(answer, query.offset)
    const sources = outcomes.map(({ source }) => source)
    const known = new History().goneOnWith(history, 0, standing.nth)
    return this.#seal({ ...standing, total, walk: this.#remember(known, standing, sources) }, sources, query)
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
      const history = position.walk === '' ? new History() : this.#walks.get(position.walk)
      const walk = new Walk(sources, query, {
        from: position,
        isPage: true,
        ...(history === undefined ? {} : { history }),
      })
      const items = await collect(walk, query.limit, deadline)
      const { standing } = walk
      const more = await walk.next(1, deadline)
      const { outcomes } = walk
      const described = describeOutcomes(outcomes, countReturned(items), query.explain)
      refuseUnusable({ ...described, outcomes, total: items.length }, asking)
      const answer = { items, shown: items, total: position.total, outcomes, ...described }
      if (items.length === 0 || more.length === 0) return { ...answer, nextCursor: undefined }
      const known =
        history === undefined
          ? new History().goneOnWith(walk.history, 0, standing.nth)
          : history.goneOnWith(walk.history, position.nth, standing.nth)
      const name = known === history ? position.walk : undefined
      const next = {
        ...standing,
        total: position.total,
        walk: this.#remember(known, standing, sources, name),
      }
      return { ...answer, nextCursor: this.#seal(next, sources, query) }
    })
  }

  /** @returns the name to ask for it by; empty where whoever goes on need not know it */
  #remember(
    history: History,
    { ahead, isCrowd }: Standing,
    sources: readonly NamedSource[],
    name = randomBytes(9).toString('base64url'),
  ): string {
    if (sources.length === 1 && ahead.length === 0 && !isCrowd) return ''
    this.#walks.set(name, history)
    return name
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

const collect = async (walk: Walk, limit: number, signal: AbortSignal): Promise<MergedItem[]> => {
  const items: MergedItem[] = []
  while (items.length < limit) {
    const some = await walk.next(limit - items.length, signal)
    if (some.length === 0) return items
    items.push(...some)
  }
  return items
}
