import { hash } from 'node:crypto'
import type { ListingQuery } from '../../domain/query.ts'
import { oncePerObject } from '../../domain/remembered.ts'
import type { Holding } from '../../domain/source/holding.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { EntrepotError } from '../../errors.ts'
import { ask, matchesOf, outcomesOf } from '../ask.ts'
import type { Asked, Asking } from '../asking.ts'
import type { MarketSettings } from '../market-settings.ts'
import { assertAnswerable, countReturned, type Reports, reportOutcomes } from '../source-report.ts'
import { rankSources, visibleSources } from '../sources.ts'
import { meaningsOf } from '../standing-filter.ts'
import { type Validity, validityOf } from '../validity.ts'
import { type MergedItem, mergeCopies } from './merged-item.ts'
import { openOrder } from './order.ts'
import type { ByPrice } from './price-groups.ts'

/** Last listing for pages by offset. */
const MAX_DEPTH = 2000

export type MergedPage = Reports & {
  items: readonly MergedItem[]
  total: number
  nextCursor: string | undefined
  isCurrent: Validity
}

export type Paging = {
  /** From 1 on. */
  limit: number
  offset: number
  /** `null` begins at the offset; absent: the page needs no cursor. */
  cursor?: string | null | undefined
}

/**
 * Rejects with an `EntrepotError`: `bad_request` for a page beyond `MAX_DEPTH`, an unknown source or an invalid cursor; and as
 * `assertAnswerable` does.
 */
export async function readPage(
  settings: MarketSettings,
  { query, request }: Asking,
  { limit, offset, cursor }: Paging,
): Promise<MergedPage> {
  const { cursors } = settings
  const { reader, byPrice: by, isLoop = false } = request
  const isFirst = cursor === null || cursor === undefined
  if (isFirst && offset + limit > MAX_DEPTH && !isLoop && isBounded(settings))
    throw new EntrepotError(
      'bad_request',
      `offset + limit may not exceed ${MAX_DEPTH} at a gateway: use cursor to read further`,
    )
  const isNewest = by === undefined && isFirst
  const asked = await ask(settings, {
    query: isNewest ? { ...query, newest: offset + limit } : query,
    request,
  })
  const hasCursor = cursor !== undefined
  const sources = visibleSources(settings.sources, request)
  const question = hasCursor
    ? questionOf([reader.filter.key, ...(query.via ?? [])], { query, by, sources })
    : ''
  const from = isFirst ? null : cursors.open(cursor, question)
  const matches = await matchesOf(settings, asked)
  const order = await openOrder(settings, asked, matches, request, from)
  // One more shows whether there are more.
  const found = order.take(from, isFirst ? offset : 0, limit + 1)
  const visits = found.slice(0, limit)
  const items = mergeCopies(
    settings,
    asked,
    visits.map(({ copy }) => copy),
    order,
  )
  const whole = visits.length === limit ? wholeOf(asked) : undefined
  const outcomes = outcomesOf(asked, matches, whole)
  const total = from?.total ?? whole ?? matches.total
  const reports = reportOutcomes(outcomes, settings, countReturned(items))
  assertAnswerable({ ...reports, total: from === null ? total : items.length }, request)
  const last = visits.at(-1)
  const hasMore = found.length > limit || (whole !== undefined && whole > offset + limit)
  const nextCursor =
    hasCursor && !isLoop && hasMore && last !== undefined
      ? cursors.seal({ ...last.point(), total }, question)
      : undefined
  const isCurrent = validityOf(settings, asked, { nextCursor, bounds: order.bounds })
  return { items, total, nextCursor, isCurrent, ...reports }
}

/** The own Registry alone is read at any depth, and so are sources that hold only what was asked. */
function isBounded({ sources }: MarketSettings): boolean {
  return !sources.every(({ isOwn, fetch }) => isOwn || fetch !== undefined)
}

/** All matches of the only source, where it counts them and a full page of its newest lacks nothing. */
function wholeOf({ answers }: Asked): number | undefined {
  const [{ answer } = { answer: null }, ...others] = answers
  if (answer === null || answer instanceof SourceError || others.length > 0) return undefined
  return answer.isNewest === true ? answer.part?.of : undefined
}

/** The names of a thousand sources are long. */
const digestOfNames = oncePerObject((ranked: readonly Holding[]) =>
  hash('sha256', JSON.stringify(ranked.map(({ name }) => name)), 'base64url'),
)

/** Without the gateways that it has passed. */
function textOf({ status, publisher, filters, criteria, priceLimit }: ListingQuery): string {
  const limit = priceLimit && [priceLimit.tokens, priceLimit.per, String(priceLimit.max)]
  return JSON.stringify([status, publisher, filters, meaningsOf(criteria), limit])
}

type BoundQuestion = { query: ListingQuery; sources: readonly Holding[]; by?: ByPrice | undefined }

/** What a cursor or a position is bound to: everything but the page size. @param asker lines of text */
export function questionOf(asker: readonly string[], { query, sources, by }: BoundQuestion): string {
  const order = by && JSON.stringify([by.tokens, by.per])
  return [textOf(query), digestOfNames(rankSources(sources)), order, ...asker].join('\n')
}
