import type { ListingQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { endOfMs } from '../domain/timestamp.ts'
import { nextTurn } from '../domain/turns.ts'
import { EntrepotError } from '../errors.ts'
import type { ByPrice } from './by-price/price-order.ts'
import { type Cursors, invalidCursor } from './cursor.ts'
import { decidersOf } from './deciders.ts'
import type { MergedItem } from './merged-item.ts'
import { boundsFor, describeItems, openSequence } from './sequence.ts'
import { assertAnswerable, countReturned, type Reports, reportOutcomes } from './source-report.ts'
import { type MergeRequest, type MergeSettings, rankSources, visibleSources, withBudget } from './sources.ts'

/** Last listing for pages by offset. */
const MAX_DEPTH = 2000
/** Listings that are merged at once. In a ring of gateways, a query that comes back may ask for a deeper page. */
const MAX_AT_ONCE = 2000

export type MergedPage = Reports & {
  items: readonly MergedItem[]
  total: number
  nextCursor: string | undefined
  areBoundsCurrent: () => boolean
}

export type PageSettings = MergeSettings & {
  /** `null`: no cursors. */
  cursors: Cursors | null
  /** Default: `MAX_DEPTH`, and none for the own Registry alone. */
  maxDepth?: number
}

export type Paging = {
  /** From 1 on. */
  limit: number
  offset: number
  /** `null` begins at the offset; absent: the page needs no cursor. */
  cursor?: string | null | undefined
}

/**
 * A source without an answer within `budgetMs` has failed. Rejects with an `EntrepotError`: `bad_request` for
 * a page beyond `MAX_DEPTH`, an unknown source or an invalid cursor; and as `assertAnswerable` does.
 */
export async function readPage(
  settings: PageSettings,
  query: ListingQuery,
  { limit, offset, cursor }: Paging,
  request: MergeRequest,
): Promise<MergedPage> {
  const { sources, holdings, clock, cursors } = settings
  const { byPrice: by, isLoop = false, budgetMs: ms = settings.budgetMs } = request
  const visible = visibleSources(sources, request)
  const question = questionOf(query, by, visible)
  const from = openCursor(cursors, cursor, question)
  // The own Registry alone is read at any depth, in its own order.
  const isOwn = sources.every(({ mode }) => mode === 'local')
  const { maxDepth = isOwn ? Number.POSITIVE_INFINITY : MAX_DEPTH } = settings
  if (offset + limit > maxDepth && from === null && !isLoop)
    throw new EntrepotError(
      'bad_request',
      `offset + limit may not exceed ${maxDepth} at a gateway: use cursor to read further`,
    )
  const cap = isOwn ? Number.MAX_SAFE_INTEGER : endOfMs(clock.now())
  const passed = from === null ? offset : 0
  const skip = isOwn && by === undefined ? passed : 0
  const openDeciders = decidersOf(holdings)
  const { reader } = request
  const asked = by === undefined && from === null ? { ...query, newest: offset + limit } : query
  const sequence = openSequence(visible, asked, { by, cap, from, skip, openDeciders, reader, settings })
  const { page, before } = await withBudget(ms, request.signal, (signal) =>
    takeBehind(sequence, { skipped: passed - skip, limit }, signal),
  )
  const { resumePoint } = sequence
  const total = from?.total ?? Math.max(sequence.total, before + page.length)
  const bounds = await boundsFor(sequence, settings, reader)
  const items = describeItems(page, sequence, query, { ...settings, bounds })
  const needsCursor = cursor !== undefined && cursors !== null && !isLoop
  const hasMore = needsCursor && items.length > 0 && sequence.hasMore()
  const reports = reportOutcomes(sequence.outcomes, countReturned(items), settings)
  assertAnswerable({ ...reports, total: from === null ? total : items.length }, request)
  const nextCursor =
    hasMore && resumePoint !== null ? cursors!.seal({ ...resumePoint, total }, question) : undefined
  return { items, total, nextCursor, areBoundsCurrent: bounds.isCurrent, ...reports }
}

/** @throws EntrepotError `bad_request` for a cursor that is not valid for the question */
function openCursor(cursors: Cursors | null, cursor: string | null | undefined, question: string) {
  if (cursor === null || cursor === undefined) return null
  if (cursors === null) throw invalidCursor('is not valid here')
  return cursors.open(cursor, question)
}

/** Passes what is before a deep page in parts, so that other requests are answered meanwhile. */
async function takeBehind(
  sequence: ReturnType<typeof openSequence>,
  { skipped, limit }: { skipped: number; limit: number },
  signal: AbortSignal,
): Promise<{ page: MergedItem[]; before: number }> {
  let before = 0
  while (before < skipped && skipped - before + limit > MAX_AT_ONCE) {
    const { length } = await sequence.take(Math.min(skipped - before, MAX_AT_ONCE), signal)
    if (length === 0) return { page: [], before }
    before += length
    await nextTurn(signal)
  }
  const merged = await sequence.take(skipped - before + limit, signal)
  return { page: merged.slice(skipped - before), before: Math.min(skipped, before + merged.length) }
}

/** Binds a cursor to everything but the page size. */
export function questionOf(
  { status, publisher, filters, criteria, standing, via, priceLimit }: ListingQuery,
  by: ByPrice | undefined,
  sources: readonly NamedSource[],
): string {
  // A reload may give a filter another meaning.
  const meanings = criteria.map(({ filter: { path, op, value_type, alias_kind }, onMissing }) => {
    return [path, op, value_type, alias_kind, onMissing]
  })
  const names = rankSources(sources).map(({ name }) => name)
  const parts = [status, publisher, filters, meanings, via, names, ...(standing?.key ? [standing.key] : [])]
  if (by === undefined && priceLimit === undefined) return JSON.stringify(parts)
  const order = by && [by.tokens, by.per]
  const limit = priceLimit && [priceLimit.tokens, priceLimit.per, String(priceLimit.max)]
  return JSON.stringify([...parts, order ?? null, limit ?? null])
}
