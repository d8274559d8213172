import { Readable } from 'node:stream'
import { z } from 'zod'
import type { Clock } from '../../domain/clock.ts'
import { type PriceQuestion, parsePriceQuestion } from '../../domain/price/price-parameters.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import type { Caching, PageQuery } from '../../domain/query.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { EntrepotError } from '../../errors.ts'
import type { FilterSpec } from '../../filter-spec/filter.ts'
import { parseCdnLoop } from '../../gateway/cdn-loop.ts'
import { CURSOR_SECONDS } from '../../gateway/cursor.ts'
import { renderItem, renderMerged } from '../../gateway/envelope.ts'
import type { ReadFacets } from '../../gateway/facets.ts'
import type { FindListing } from '../../gateway/find-listing.ts'
import type { StreamListings } from '../../gateway/ndjson.ts'
import type { MergedPage, ReadPage } from '../../gateway/pages.ts'
import type { MergeRequest } from '../../gateway/sources.ts'
import type { CurrentSpec, ReadVocabulary } from '../../gateway/vocabulary.ts'
import { mergedEnvelopeSchema, mergedListingSchema } from '../../wire/listing.ts'
import { sourceReportSchema } from '../../wire/source.ts'
import { requireEtag } from '../etag.ts'
import { NDJSON_TYPE, prefersToJson } from '../middleware/accept.ts'
import {
  GATEWAY_ONLY,
  type GatewayParameters,
  IF_NONE_MATCH,
  LISTING_ID,
  listingParameters,
  NOT_MODIFIED,
  queryOf,
  readGatewayParameters,
  readStatusParameter,
} from '../parameters.ts'
import { type HandlerResponse, parameter, type RequestContext, type Route } from '../route.ts'
import {
  type MergedHeaderOptions,
  mergedHeaders,
  oneListingHeaders,
  streamHeaders,
} from './merged-headers.ts'
import type { SourceList } from './sources.ts'

/** All sources as one. */
export type Gateway = MergedHeaderOptions &
  SourceList & {
    /** Of the local Registry. */
    spec: FilterSpec
    vocabulary: ReadVocabulary
    readPage: ReadPage
    stream: StreamListings
    find: FindListing
    readFacets: ReadFacets
    tokens: TokenTable
    budgetMs: number
  }

export const mergedListingRoutes = (gateway: Gateway): Route[] => [
  listMergedListings(gateway),
  getMergedListing(gateway),
]

const listMergedListings = (gateway: Gateway): Route => ({
  method: 'GET',
  path: '/listings',
  gate: 'read',
  summary: 'List matching listings of all visible sources',
  description:
    'Newest first, each listing once, ordered by its newest copy and shown as the copy of the best source that was read. ' +
    '`sort=price` orders by the price of that copy, over everything that matches. ' +
    'Every other query parameter is a filter of the filter spec; all filters have to match. `offset` and `limit` count ' +
    'merged listings, and pages of an unchanged market neither lose nor repeat a listing. `cursor` continues at any ' +
    'depth: no unchanged listing is lost; one with copies in live sources or gateways may be repeated, with the same id ' +
    'and publisher. `Accept: application/x-ndjson` streams the complete sequence, one listing a line and none twice; its ' +
    'last line is `_meta` with `complete` and `sources`.',
  parameters: [...listingParameters(gateway.spec), ...GATEWAY_ONLY, IF_NONE_MATCH],
  responses: {
    200: {
      description: 'A page of listings, and a report of each source',
      schema: mergedEnvelopeSchema,
      isStreamed: true,
    },
    304: NOT_MODIFIED,
  },
  problems: [400, 412, 422, 502, 503, 504, 508],
  handle: (request) => readPage(request, gateway),
})

async function readPage(request: RequestContext, gateway: Gateway): Promise<HandlerResponse> {
  const parameters = readGatewayParameters(request.queryString)
  const price = parsePriceQuestion(gateway.tokens, parameters.texts)
  const read = await readVocabulary(request, gateway, parameters)
  const { query, context } = marketQuery(request, gateway, { ...read, parameters, price })
  if (prefersToJson(NDJSON_TYPE, request.listHeader('accept'))) {
    if (parameters.cursor !== null)
      throw new EntrepotError(
        'bad_request',
        'cursor cannot be used with NDJSON: a stream has no pages; leave it out',
      )
    const { outcomes, lines } = await gateway.stream(query, context)
    const body = Readable.from(lines, { objectMode: false })
    return { type: NDJSON_TYPE, body, headers: streamHeaders(outcomes, gateway) }
  }
  const page = await gateway.readPage(query, parameters.cursor, context)
  const { body, rows } = renderMerged(page)
  const headers = mergedHeaders(page, rows, request.reader, gateway)
  const isCurrent = currency(page, parameters.filters.length === 0 ? null : read.vocabulary, gateway.clock)
  return { body, headers, isCurrent }
}

type VocabularyRead = { vocabulary: CurrentSpec; leftMs: number }

/** Waiting for the filters is part of the budget. */
export async function readVocabulary(
  { header, reader, signal: caller }: RequestContext,
  { vocabulary, spec, budgetMs }: Pick<Gateway, 'vocabulary' | 'spec' | 'budgetMs'>,
  parameters: Pick<GatewayParameters, 'budgetMs' | 'filters'>,
): Promise<VocabularyRead> {
  const started = performance.now()
  const ifMatch = header('if-match')
  const ms = parameters.budgetMs ?? budgetMs
  const filters = ifMatch === undefined ? parameters.filters : undefined
  const read = await vocabulary(reader, { ms, caller }, filters)
  // Readers may know only our own filter spec, so its etag matches, too.
  requireEtag(ifMatch, read.etag, spec.etag)
  return { vocabulary: read, leftMs: Math.max(1, ms - (performance.now() - started)) }
}

/** @throws EntrepotError `loop`, or `bad_request` for the status or a filter */
export function marketQuery(
  request: RequestContext,
  { gatewayId }: Pick<Gateway, 'gatewayId'>,
  {
    vocabulary,
    leftMs,
    parameters,
    price,
  }: VocabularyRead & { parameters: GatewayParameters; price: PriceQuestion },
): { query: PageQuery; context: MergeRequest } {
  const { reader, signal } = request
  const { isLoop, ...asked } = readPath(request, gatewayId)
  const { named, requireAll, explain } = parameters
  const status = readStatusParameter(parameters.status)
  const byPrice = price.sort === 'price' ? price : undefined
  return {
    query: { ...queryOf(vocabulary, status, parameters), priceLimit: price.limit, explain, ...asked },
    context: { reader, signal, options: { named, requireAll, budgetMs: leftMs, isLoop, byPrice } },
  }
}

/** How the query came here, and which cached Readings it accepts. */
const readPath = ({ listHeader, trace }: RequestContext, gatewayId: string) => ({
  ...parseCdnLoop(listHeader('cdn-loop'), gatewayId),
  caching: requestCaching(listHeader('cache-control'), listHeader('pragma')),
  trace,
})

/**
 * Whether the answer may be served again: every Reading and the filters are current, no age is a second
 * older, and a cursor has half its life left. `undefined`: never.
 */
export function currency(
  page: Pick<MergedPage, 'outcomes' | 'nextCursor'>,
  vocabulary: CurrentSpec | null,
  clock: Clock,
): (() => boolean) | undefined {
  const checks: ((now: number) => boolean)[] = vocabulary === null ? [] : [vocabulary.isCurrent]
  const now = clock.now()
  let until = page.nextCursor === undefined ? Number.POSITIVE_INFINITY : now + (CURSOR_SECONDS / 2) * 1000
  for (const { source, result } of page.outcomes) {
    if (result instanceof SourceError || result.isCurrent === undefined) return undefined
    checks.push(result.isCurrent)
    if (source.mode === 'local') continue
    if (result.cache?.outcome !== 'hit') return undefined
    until = Math.min(until, result.asOf + Math.floor((now - result.asOf) / 1000 + 1) * 1000)
  }
  return whileCurrent(checks, now, until, clock)
}

/** A separate function, so that the closure does not retain the page. */
const whileCurrent =
  (checks: readonly ((now: number) => boolean)[], from: number, until: number, clock: Clock) =>
  (): boolean => {
    const now = clock.now()
    return from <= now && now < until && checks.every((isCurrent) => isCurrent(now))
  }

const REGISTRY = parameter(
  'query',
  'registry',
  'The only source to request, by its name or as in `_meta.registry`; default: all visible sources',
)

const getMergedListing = (gateway: Gateway): Route => ({
  method: 'GET',
  path: '/listings/:id',
  gate: 'read',
  summary: 'One listing of any status: the best copy of all sources',
  description:
    'Requests all sources, and shows the best copy as soon as every better source has answered. If one of those did ' +
    'not answer, `complete` is false, `sources` gives the reason, and the response must not be cached. 404 only if every ' +
    'source answered that it has no such listing.',
  parameters: [LISTING_ID, REGISTRY],
  responses: {
    200: {
      description: 'The listing',
      schema: z.object({
        listing: mergedListingSchema,
        complete: z.boolean().optional().describe('Only if false'),
        sources: z.array(sourceReportSchema).optional().describe('Only if `complete` is false'),
      }),
    },
  },
  problems: [400, 404, 502, 503, 504, 508],
  handle: (request) => readOne(request, gateway),
})

async function readOne(request: RequestContext, gateway: Gateway): Promise<HandlerResponse> {
  const { params, query, reader, signal } = request
  const { isLoop, ...asked } = readPath(request, gateway.gatewayId)
  const lookup = { listingId: params.id ?? '', ...asked }
  // `eu/curated` belongs to the source `eu`.
  const source = (query.registry || null)?.split('/', 1)[0]
  const named = source === undefined ? null : [source]
  const found = await gateway.find(lookup, { reader, signal, options: { named, isLoop } })
  if (found.merged === null) throw new EntrepotError('not_found', 'Listing not found')
  const end = found.complete ? '}' : `,"complete":false,"sources":${JSON.stringify(found.sources)}}`
  return {
    body: Buffer.concat([OPEN_LISTING, renderItem(found.merged), Buffer.from(end)]),
    headers: oneListingHeaders(found, reader, gateway),
  }
}

const OPEN_LISTING = Buffer.from('{"listing":')

/** The supported directives of `Cache-Control` (RFC 9111 section 5.2.1), or else of `Pragma`. */
function requestCaching(cacheControl: string | undefined, pragma: string | undefined): Caching | undefined {
  const directives = (cacheControl ?? pragma ?? '').split(',').map((one) => one.trim().toLowerCase())
  if (directives.includes('no-cache')) return 'no-cache'
  return directives.includes('only-if-cached') ? 'only-if-cached' : undefined
}
