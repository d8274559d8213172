import type { Reader } from '../domain/api-key.ts'
import type { Clock } from '../domain/clock.ts'
import { withDeadline } from '../domain/deadline.ts'
import type { ListingQuery, PageQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/reading.ts'
import { SourceError } from '../domain/source-error.ts'
import { endOfMs } from '../domain/timestamp.ts'
import { EntrepotError } from '../errors.ts'
import type { Cursors } from './cursor.ts'
import { MergedSequence } from './merge.ts'
import type { MergedItem } from './merged-item.ts'
import { assertAnswerable, countReturned, reportOutcomes, type SourceReport } from './source-report.ts'
import { type MergeOptions, type Outcome, rankSources, skipAsLoop, visibleSources } from './sources.ts'

/** Last listing for pages by offset with a live source, of which all listings before have to be read. */
const MAX_LIVE_PREFIX = 2000

export type MergedPage = {
  items: readonly MergedItem[]
  total: number
  /** Whether every visible source answered, fresh or stale, and none reported a missing source. */
  complete: boolean
  /** In the order of the configuration, each followed by those that it reported as missing. */
  sources: readonly SourceReport[]
  outcomes: readonly Outcome[]
  nextCursor: string | undefined
}

type PagesOptions = {
  sources: readonly NamedSource[]
  budgetMs: number
  clock: Clock
  /** `null`: no cursors. */
  cursors: Cursors | null
  /** Default `MAX_LIVE_PREFIX`. */
  maxLivePrefix?: number
}

/** @param cursor `null` begins at the query's offset */
export type ReadPage = (
  query: PageQuery,
  cursor: string | null,
  asking: { reader: Reader; signal: AbortSignal; options?: MergeOptions },
) => Promise<MergedPage>

/**
 * A source without an answer within `budgetMs` has failed. Rejects with an `EntrepotError`: `bad_request` for
 * a page beyond `MAX_LIVE_PREFIX`, an unknown source or an invalid cursor; and as `assertAnswerable` does.
 */
export function createReadPage(options: PagesOptions): ReadPage {
  const { sources, budgetMs, clock, cursors, maxLivePrefix = MAX_LIVE_PREFIX } = options
  return async (query, cursor, { reader, signal: caller, options: fanOut = {} }) => {
    const visible = visibleSources(sources, reader, fanOut.named)
    const asked = fanOut.isLoop ? visible.map(skipAsLoop) : visible
    const question = questionOf(query, asked)
    const from = cursor === null ? null : openCursor(cursors, cursor, question)
    if (from === null && !fanOut.isLoop) refuseFarPage(visible, query, maxLivePrefix)
    const sequence = new MergedSequence(asked, withoutPaging(query), { cap: endOfMs(clock.now()), from })
    const ms = fanOut.budgetMs ?? budgetMs
    const late = () => new SourceError('timeout', `no answer within the budget of ${ms} ms`)
    const skipped = from === null ? query.offset : 0
    const merged = await withDeadline({ ms, late, caller }, (signal) =>
      sequence.take(skipped + query.limit, signal),
    )
    const { resumePoint } = sequence
    const total = from?.total ?? Math.max(sequence.total, merged.length)
    const items = merged.slice(skipped)
    const hasMore = items.length > 0 && cursors !== null && !fanOut.isLoop && sequence.hasMore()
    const { outcomes } = sequence
    const described = reportOutcomes(outcomes, countReturned(items), clock.now(), query.explain)
    assertAnswerable({ ...described, outcomes, total: from === null ? total : items.length }, fanOut)
    const nextCursor =
      hasMore && resumePoint !== null ? cursors.seal({ ...resumePoint, total }, question) : undefined
    return { items, total, outcomes, nextCursor, ...described }
  }
}

function openCursor(cursors: Cursors | null, cursor: string, question: string) {
  if (cursors !== null) return cursors.open(cursor, question)
  throw new EntrepotError('bad_request', 'cursor: not valid here')
}

function withoutPaging({ limit: _, offset: __, ...query }: PageQuery): ListingQuery {
  return query
}

/** Binds a cursor to everything but the page size. */
function questionOf({ status, publisher, filters, via }: PageQuery, sources: readonly NamedSource[]): string {
  return JSON.stringify([status, publisher, filters, via, rankSources(sources).map(({ name }) => name)])
}

function refuseFarPage(
  visible: readonly NamedSource[],
  { offset, limit }: PageQuery,
  maxLivePrefix: number,
): void {
  if (offset + limit <= maxLivePrefix || !visible.some(({ mode }) => mode === 'live')) return
  throw new EntrepotError(
    'bad_request',
    `offset + limit may not exceed ${maxLivePrefix} here: use cursor to read further`,
  )
}
