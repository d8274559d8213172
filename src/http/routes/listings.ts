import { Readable } from 'node:stream'
import { z } from 'zod'
import { EntrepotError } from '../../errors.ts'
import type { FilterSpec } from '../../filter-spec/filter.ts'
import type { Market } from '../../gateway/market.ts'
import type { MarketQuery, MarketRequest } from '../../gateway/market-query.ts'
import type { MergedItem } from '../../gateway/pages/merged-item.ts'
import { renderItem, renderMerged } from '../../gateway/pages/render.ts'
import type { Readers } from '../../gateway/readers.ts'
import { sourceMembers } from '../../gateway/source-report.ts'
import { withMember } from '../../json/members.ts'
import { knowsPublisher } from '../../registry/publishers-in-view.ts'
import type { Replica } from '../../registry/replica.ts'
import { renderEnvelope } from '../../wire/envelope.ts'
import {
  envelopeSchema,
  listingSchema,
  mergedEnvelopeSchema,
  mergedListingSchema,
} from '../../wire/listing.ts'
import { sourceReportSchema, sourcesCountedSchema } from '../../wire/source.ts'
import { NDJSON_TYPE, prefersToJson } from '../middleware/accept.ts'
import {
  type Filters,
  GATEWAY_PARAMETERS,
  type GatewayParameters,
  IF_MATCH,
  IF_NONE_MATCH,
  LISTING_ID,
  marketRequestOf,
  NOT_MODIFIED,
  REGISTRY_PARAMETERS,
  readGatewayParameters,
  readListingParameters,
  readMarketQuery,
  withFilters,
} from '../parameters.ts'
import { type HandlerResponse, parameter, type RequestContext, type Route } from '../route.ts'
import {
  type MergedHeaderOptions,
  mergedHeaders,
  oneListingHeaders,
  streamHeaders,
} from './merged-headers.ts'
import type { SourceList } from './sources.ts'

export type Gateway = MergedHeaderOptions &
  SourceList & {
    market: Market
    readers: Readers
    /** Of the local Registry. */
    spec: FilterSpec
    derived: Filters['derived']
  }

/** Of a gateway: every source, with a report of each. */
export const mergedListingRoutes = (gateway: Gateway): Route[] => [listMerged(gateway), getMerged(gateway)]

/** Of a plain Registry: exactly the members of the deployed protocol. */
export const plainListingRoutes = (gateway: Gateway, replica: Replica): Route[] => [
  listPlain(gateway, replica),
  getPlain(gateway),
]

const listPlain = (
  gateway: Gateway,
  replica: Replica,
  { all, isParameter } = withFilters(REGISTRY_PARAMETERS, gateway),
): Route => ({
  method: 'GET',
  path: '/listings',
  gate: 'read',
  summary: 'List matching listings',
  description:
    'Newest first, or by price. Every other query parameter is a filter of the filter spec; all filters have to match.',
  parameters: [...all, IF_MATCH],
  responses: { 200: { description: 'A page of listings', schema: envelopeSchema } },
  problems: [400, 412, 422],
  handle: async ({ queryString, reader, signal, trace, header, signed }) => {
    const { market } = gateway
    const parameters = readListingParameters(queryString, isParameter)
    const { limit, offset } = parameters
    const request = { reader, signal, trace, ifMatch: header('if-match') }
    const query = await readMarketQuery(market, parameters, request)
    const { publisher } = query
    // On the plain line, an unknown publisher is answered before the filters are checked.
    const isUnknown =
      signed === undefined &&
      publisher !== null &&
      !knowsPublisher(replica.projection, publisher, await market.ownListings({ reader }))
    const { items, total, unplaced, isCurrent, changesPosition } = await market.page(
      { ...query, ...(isUnknown && { filters: [] }), limit, offset, suggests: false },
      request,
    )
    const judged = unplaced === undefined ? '' : `,"unplaced":${JSON.stringify(unplaced)}`
    const { sort, limit: ceiling } = query.prices
    const rowOf = sort === 'price' || ceiling !== undefined ? pricedRow : plainRow
    // Then its filters were left out.
    const isOther = isUnknown && query.filters.length > 0
    return {
      body: renderEnvelope(items.map(rowOf), total, judged),
      headers: isOther ? {} : positionHeader(changesPosition),
      isCurrent,
    }
  },
})

/** As published. */
export const plainRow = ({ bytes }: MergedItem): Uint8Array => bytes

export function pricedRow({ bytes, price }: MergedItem): Uint8Array {
  return price === undefined ? bytes : withMember(bytes, '_meta', JSON.stringify({ price }))
}

const getPlain = ({ market }: Gateway): Route => ({
  method: 'GET',
  path: '/listings/:id',
  gate: 'read',
  summary: 'One listing of any status',
  parameters: [LISTING_ID],
  responses: { 200: { description: 'The listing', schema: z.object({ listing: listingSchema }) } },
  problems: [404],
  handle: async ({ params, reader, signal, trace }) => {
    const { merged, isCurrent } = await market.find(params.id ?? '', null, { reader, signal, trace })
    if (merged === null) throw new EntrepotError('not_found', 'Listing not found')
    return { body: Buffer.concat([OPEN_LISTING, merged.bytes, CLOSE_LISTING]), isCurrent }
  },
})

const listMerged = (
  gateway: Gateway,
  { all, isParameter } = withFilters(GATEWAY_PARAMETERS, gateway),
): Route => ({
  method: 'GET',
  path: '/listings',
  gate: 'read',
  summary: 'List matching listings of all visible sources',
  description:
    'Newest first, each listing once. The best source that has a listing decides about it: its copy is shown, filtered, ' +
    'priced and put in order of its own date, and hides copies of worse sources. `sort=price` orders by price, over ' +
    'everything that matches. ' +
    'Every other query parameter is a filter of the filter spec; all filters have to match. `offset` and `limit` count ' +
    'merged listings, and pages of an unchanged market neither lose nor repeat a listing. `cursor` continues at any ' +
    'depth: no unchanged listing is lost; one that was `unchecked`, or is in a gateway, may be repeated, with the same id and publisher. ' +
    '`Accept: application/x-ndjson` streams the complete sequence, one listing a line and none twice; its ' +
    'last line is `_meta` with `complete` and `sources`, and `rules_changed` if a block began or ended meanwhile.',
  parameters: [...all, IF_MATCH, IF_NONE_MATCH],
  responses: {
    200: {
      description: 'A page of listings, and a report of each source',
      schema: mergedEnvelopeSchema,
      isStreamed: true,
    },
    304: NOT_MODIFIED,
  },
  problems: [400, 412, 422, 502, 503, 504, 508],
  handle: async (context) => {
    const parameters = readGatewayParameters(context.queryString, isParameter)
    const request = marketRequestOf(context, parameters)
    const query = await readMarketQuery(gateway.market, parameters, request)
    const answer = prefersToJson(NDJSON_TYPE, context.listHeader('accept')) ? streamMerged : pageMerged
    const asked = { query, parameters, request }
    if (context.signed !== undefined) return answer(gateway, asked, context)
    return withUsableFilters(gateway.market, asked, (usable) => answer(gateway, usable, context))
  },
})

type ReadRequest = { query: MarketQuery; parameters: GatewayParameters; request: MarketRequest }

async function pageMerged(
  gateway: Gateway,
  { query, parameters, request }: ReadRequest,
  { caller }: RequestContext,
): Promise<HandlerResponse> {
  const { limit, offset, cursor } = parameters
  const page = await gateway.market.page({ ...query, limit, offset, cursor }, request)
  const { body, rows } = renderMerged(page)
  const headers = { ...mergedHeaders(page, rows, caller, gateway), ...positionHeader(page.changesPosition) }
  return { body, headers, isCurrent: page.isCurrent }
}

async function streamMerged(
  gateway: Gateway,
  { query, parameters, request }: ReadRequest,
): Promise<HandlerResponse> {
  if (parameters.cursor !== null)
    throw new EntrepotError(
      'bad_request',
      'cursor cannot be used with NDJSON: a stream has no pages; leave it out',
    )
  const { outcomes, lines, contents, changesPosition } = await gateway.market.stream(query, request)
  const body = Readable.from(lines, { objectMode: false })
  const headers = { ...streamHeaders(outcomes, gateway), ...positionHeader(changesPosition) }
  if (contents === null) return { type: NDJSON_TYPE, body, headers }
  const tag = gateway.contentTag(Buffer.from(contents), request.reader.digest)
  return { type: NDJSON_TYPE, body, headers: { ...headers, 'Cache-Control': 'no-cache', ETag: `W/"${tag}"` } }
}

/**
 * On the plain line, the page of an unknown publisher is empty whatever the filters are. So wrong filters are left out where
 * every source has answered that it has no listing of the publisher.
 */
async function withUsableFilters(
  market: Market,
  asked: ReadRequest,
  answer: (asked: ReadRequest) => Promise<HandlerResponse>,
): Promise<HandlerResponse> {
  const { query, parameters, request } = asked
  try {
    return await answer(asked)
  } catch (cause) {
    const isDoubted = query.publisher !== null && query.filters.length > 0 && parameters.cursor === null
    if (!isDoubted || !(cause instanceof EntrepotError) || cause.code !== 'bad_request') throw cause
    const unfiltered = { ...query, filters: [] }
    const any = { ...unfiltered, prices: { ...query.prices, sort: 'newest', limit: undefined } } as const
    const first = await market.page({ ...any, limit: 1, offset: 0 }, request).catch(() => null)
    if (first === null || first.total > 0 || !first.complete) throw cause
    return answer({ ...asked, query: unfiltered })
  }
}

/** Where `GET /changes` continues behind the answer. */
function positionHeader(position: string | undefined): Record<string, string> {
  return position === undefined ? {} : { 'Changes-Position': position }
}

const REGISTRY = parameter(
  'query',
  'registry',
  'The only source to ask, by its name or as in `_meta.registry`; default: all visible sources',
)

const getMerged = (gateway: Gateway): Route => ({
  method: 'GET',
  path: '/listings/:id',
  gate: 'read',
  summary: 'One listing of any status: the best copy of all sources',
  description:
    'Asks the source with the best copy that is held and every better one, or all where none is held, and shows the best copy ' +
    'as soon as every better source has answered. If one of those did ' +
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
        sources_counted: sourcesCountedSchema,
      }),
    },
  },
  problems: [400, 404, 502, 503, 504, 508],
  handle: (request) => findMerged(gateway, request),
})

async function findMerged(gateway: Gateway, request: RequestContext): Promise<HandlerResponse> {
  const { params, query, caller } = request
  const listing = await gateway.market.find(params.id ?? '', query.registry || null, marketRequestOf(request))
  const { merged, complete, isCurrent } = listing
  if (merged === null) throw new EntrepotError('not_found', 'Listing not found')
  const end = complete
    ? CLOSE_LISTING
    : Buffer.from(`,${JSON.stringify({ complete, ...sourceMembers(listing) }).slice(1)}`)
  return {
    body: Buffer.concat([OPEN_LISTING, renderItem(merged), end]),
    headers: oneListingHeaders(listing, caller, gateway),
    isCurrent,
  }
}

const OPEN_LISTING = Buffer.from('{"listing":')
const CLOSE_LISTING = Buffer.from('}')
