import type { TokenTable } from '../domain/price/token.ts'
import type { PageQuery } from '../domain/query.ts'
import type { NamedSource } from '../domain/source/named-source.ts'
import { endOfMs } from '../domain/timestamp.ts'
import { nextTurn } from '../domain/turns.ts'
import { EntrepotError } from '../errors.ts'
import type { ByPrice } from './by-price/price-order.ts'
import { type Cursors, invalidCursor } from './cursor.ts'
import type { MergedItem } from './merged-item.ts'
import { countTotal, openSequence, withPrices } from './sequence.ts'
import { assertAnswerable, countReturned, type Reports, reportOutcomes } from './source-report.ts'
import { type MergeRequest, type MergeSettings, rankSources, visibleSources, withBudget } from './sources.ts'

/** Last listing for pages by offset with a live source, or by price, where all listings before have to be read. */
const MAX_LIVE_PREFIX = 2000
/** Listings that are merged at once. Of sources in memory a page may be deeper. */
const MAX_AT_ONCE = 2000

export type MergedPage = Reports & {
  items: readonly MergedItem[]
  total: number
  nextCursor: string | undefined
}

type PagesOptions = MergeSettings & {
  tokens: TokenTable
  /** `null`: no cursors. */
  cursors: Cursors | null
  /** Default `MAX_LIVE_PREFIX`. */
  maxLivePrefix?: number
}

/** @param cursor `null` begins at the query's offset */
export type ReadPage = (query: PageQuery, cursor: string | null, request: MergeRequest) => Promise<MergedPage>

/**
 * A source without an answer within `budgetMs` has failed. Rejects with an `EntrepotError`: `bad_request` for
 * a page beyond `MAX_LIVE_PREFIX`, an unknown source or an invalid cursor; and as `assertAnswerable` does.
 */
export function createReadPage({
  sources,
  budgetMs,
  clock,
  tokens,
  cursors,
  maxLivePrefix = MAX_LIVE_PREFIX,
}: PagesOptions): ReadPage {
  return async (page, cursor, { reader, signal: caller, options = {} }) => {
    const { limit, offset, ...query } = page
    const visible = visibleSources(sources, reader, options)
    const by = options.byPrice
    const question = questionOf(page, by, visible)
    if (cursor !== null && cursors === null) throw invalidCursor('is not valid here')
    const from = cursor === null ? null : cursors!.open(cursor, question)
    const isReadWhole = by !== undefined || visible.some(({ mode }) => mode === 'live')
    const isFar = offset + limit > maxLivePrefix && isReadWhole
    if (isFar && from === null && !options.isLoop)
      throw new EntrepotError(
        'bad_request',
        `offset + limit may not exceed ${maxLivePrefix} here: use cursor to read further`,
      )
    const sequence = openSequence(visible, query, { by, cap: endOfMs(clock.now()), from })
    const skipped = from === null ? offset : 0
    const { page: taken, before } = await withBudget(options.budgetMs ?? budgetMs, caller, (signal) =>
      takeBehind(sequence, { skipped, limit }, signal),
    )
    const { resumePoint } = sequence
    const total = from?.total ?? Math.max(await countTotal(sequence, caller), before + taken.length)
    const items = withPrices(taken, sequence, query, tokens)
    const hasMore = items.length > 0 && cursors !== null && !options.isLoop && sequence.hasMore()
    const reports = reportOutcomes(sequence.outcomes, countReturned(items), clock.now(), page.explain)
    assertAnswerable({ ...reports, total: from === null ? total : items.length }, options)
    const nextCursor =
      hasMore && resumePoint !== null ? cursors.seal({ ...resumePoint, total }, question) : undefined
    return { items, total, nextCursor, ...reports }
  }
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
function questionOf(
  { status, publisher, filters, criteria, via, priceLimit }: PageQuery,
  by: ByPrice | undefined,
  sources: readonly NamedSource[],
): string {
  // A reload may give a filter another meaning.
  const meanings = criteria.map(({ filter: { path, op, value_type, alias_kind }, onMissing }) => {
    return [path, op, value_type, alias_kind, onMissing]
  })
  const asked = [status, publisher, filters, meanings, via, rankSources(sources).map(({ name }) => name)]
  if (by === undefined && priceLimit === undefined) return JSON.stringify(asked)
  const order = by && [by.tokens, by.per]
  const limit = priceLimit && [priceLimit.tokens, priceLimit.per, String(priceLimit.max)]
  return JSON.stringify([...asked, order ?? null, limit ?? null])
}
