import type { ListingStatus } from '../domain/listing.ts'
import type { PriceQuestion } from '../domain/price/price-parameters.ts'
import type { Caching, ListingQuery } from '../domain/query.ts'
import { maySee, type Reader } from '../domain/reader.ts'
import type { Trace } from '../domain/trace.ts'
import { EntrepotError, type Violation } from '../errors.ts'
import { requireEtag } from '../filter-spec/etag.ts'
import { EMPTY_SPEC, type FilterSpec } from '../filter-spec/filter.ts'
import { joinRepeats, parseCriteria, repeatWarnings } from '../filter-spec/parameters.ts'
import type { Asking, AskRequest, Outcome } from './asking.ts'
import { parseCdnLoop, type RequestPath } from './cdn-loop.ts'
import type { CurrentSpec, ReadSpec } from './current-spec.ts'
import type { MarketParts } from './market-settings.ts'
import { noSourceError, reportOutcomes } from './source-report.ts'

/** Which listings a reader asks for. */
export type MarketQuery = {
  /** `null`: every status. */
  status: ListingStatus | null
  /** Signing address, lower-cased; `null`: every publisher. */
  publisher: string | null
  /** As in the query string of `GET /listings`. */
  filters: readonly (readonly [name: string, value: string])[]
  prices: PriceQuestion
  /** By name; `null`: all that the reader may see. */
  sources: readonly string[] | null
}

export type MarketRequest = {
  reader: Reader
  signal: AbortSignal
  trace?: Trace | undefined
  /** The gateways that the query has passed (RFC 8586). */
  cdnLoop?: string | undefined
  caching?: Caching | undefined
  /** Default: the market's. Waiting for filter specs is part of it. */
  budgetMs?: number | undefined
  /** Every source has to have a current answer. */
  requireAll?: boolean | undefined
  /** Etag of the filter spec that the filters were written for. */
  ifMatch?: string | undefined
}

/** A query of one reader, over the filters that its sources have. */
export type Question = Asking & { spec: Pick<FilterSpec, 'filters'> }

/** The same with other filters. */
export function withFilters({ query, ...question }: Question, filters: ListingQuery['filters']): Question {
  return { ...question, query: { ...query, filters, criteria: parseCriteria(question.spec, filters) } }
}

export type CheckedQuery = Question & {
  spec: CurrentSpec
  /** Parameters that do not count as they are given; absent without any. */
  warnings: readonly Violation[] | undefined
}

/** How the query came here, and which cached answers it accepts. @throws EntrepotError `loop` */
export function pathOf(
  { gatewayId }: MarketParts,
  { cdnLoop, caching, trace }: Pick<MarketRequest, 'cdnLoop' | 'caching' | 'trace'>,
): RequestPath & Pick<ListingQuery, 'caching' | 'trace'> {
  const path = gatewayId === undefined ? { isLoop: false } : parseCdnLoop(cdnLoop, gatewayId)
  return { ...path, caching, trace }
}

/** @param filters that have to be known; absent: any. @throws EntrepotError `filter_spec_mismatch` */
export async function specFor(
  { spec, budgetMs }: MarketParts,
  readSpec: ReadSpec,
  { reader, signal, ifMatch, budgetMs: ms = budgetMs }: MarketRequest,
  filters?: MarketQuery['filters'],
): Promise<CurrentSpec> {
  const current = await readSpec(reader, { ms, caller: signal }, ifMatch === undefined ? filters : undefined)
  // Readers may know only our own filter spec, so its etag matches, too.
  requireEtag(ifMatch, current.etag, (spec ?? EMPTY_SPEC).etag)
  return current
}

/**
 * Checks what a reader asks against the filters of the sources.
 * @param names further filters that have to be known; `null` for any
 * @throws EntrepotError `loop`, `filter_spec_mismatch`, `bad_request` for a filter, or as a page where no spec is known
 */
export async function checkQuery(
  parts: MarketParts,
  readSpec: ReadSpec,
  { filters: pairs, prices, sources: named, ...asked }: MarketQuery,
  request: MarketRequest,
  names: readonly string[] | null = [],
): Promise<CheckedQuery> {
  const started = performance.now()
  const { isLoop, ...trail } = pathOf(parts, request)
  const { reader, signal, requireAll, budgetMs: ms = parts.budgetMs } = request
  const awaited = names === null ? undefined : [...pairs, ...names.map((name) => [name, ''] as const)]
  const spec = await specFor(parts, readSpec, request, awaited)
  if (awaited?.length !== 0) refuseWithoutSpecs(parts, request)
  refuseClosed(parts, { status: asked.status, named }, request)
  const budgetMs = Math.max(1, Math.ceil(ms - (performance.now() - started)))
  const filters = joinRepeats(spec, pairs)
  const criteria = parseCriteria(spec, filters)
  const warnings = repeatWarnings(filters)
  return {
    query: { ...asked, filters, criteria, priceLimit: prices.limit, ...trail },
    request: {
      reader,
      signal,
      named,
      requireAll,
      budgetMs,
      isLoop,
      byPrice: prices.sort === 'price' ? prices : undefined,
    },
    spec,
    warnings: warnings.length > 0 ? warnings : undefined,
  }
}

/** A gateway holds open listings of other Registries, and has the others of its own alone. */
function refuseClosed(
  { sources, gatewayId }: MarketParts,
  { status, named }: Pick<MarketQuery, 'status'> & Pick<AskRequest, 'named'>,
  { reader }: MarketRequest,
): void {
  if (gatewayId === undefined || status === null || status === 'open') return
  const asked = sources.filter((source) => maySee(reader, source) && named?.includes(source.name) !== false)
  if (asked.length === 0 || asked.some(({ isOwn }) => isOwn)) return
  throw new EntrepotError(
    'bad_request',
    `A gateway lists only open listings of other Registries: ask those for ${status} ones, or GET /listings/{id} for one`,
  )
}

/** A buyer's filters mean nothing while no Registry has answered what it filters by. */
function refuseWithoutSpecs(parts: MarketParts, { reader }: MarketRequest): void {
  if (parts.spec !== null) return
  const visible = parts.sources.filter((source) => maySee(reader, source))
  const failed = visible.flatMap((source): Outcome[] => {
    const answer = source.spec?.current === null ? source.spec.failure : null
    return answer === null ? [] : [{ source, rank: 0, answer, matched: 0, elapsedMs: 0 }]
  })
  if (failed.length < visible.length) return
  throw noSourceError(failed, reportOutcomes(failed, parts))
}
