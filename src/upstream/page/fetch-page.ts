import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { isPseudonym } from '../../domain/names.ts'
import { type MissingSource, readMissingInProblem } from '../../domain/source/missing-source.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamKind, UpstreamOptions } from '../../domain/source/upstream.ts'
import type { PageRequest } from '../../domain/walk/walk.ts'
import { filterNameOf } from '../../filter-spec/parameters.ts'
import { objectMembers } from '../../json/members.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from '../../json/value.ts'
import { ANSWERS_SIGNED, refusesUnsigned } from '../../signing/question.ts'
import { renderEnvelope } from '../../wire/envelope.ts'
import { statusError } from '../http/errors.ts'
import { type Endpoint, type HttpResponse, loopHeaders, type Purpose, requestsTo } from '../http/request.ts'
import type { UpstreamQuery } from '../push-down.ts'
import { notJson } from './envelope.ts'
import { conditionsOf, ListingPage, MAX_ITEM_BYTES, type PageOptions } from './listing-page.ts'

/** After decompression. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024

/**
 * With `query.listingId`, a page of that listing. `earlierPage`: of the same request; it is the answer again while it
 * has the ETag of the upstream. Rejects with a `SourceError`.
 */
export type FetchPage = (
  query: UpstreamQuery,
  request: PageRequest,
  earlierPage?: ListingPage,
) => Promise<ListingPage>

/** Of `GET /changes`. */
export const POSITION = /^[\w-]{1,1000}$/

type PageEndpoint = Endpoint & Pick<UpstreamOptions, 'kind'>

type FetchPageOptions = {
  /** Default: what the query and the request are. */
  purpose?: Purpose
  onPage?: ((page: ListingPage) => void) | undefined
}

/** A 400 to a query with filters is `unsupported_filter`. */
export function createFetchPage(
  upstream: PageEndpoint,
  dispatcher: Dispatcher,
  { purpose, onPage }: FetchPageOptions = {},
): FetchPage {
  const send = requestsTo(upstream, dispatcher)
  return async (query, request, earlierPage) => {
    const target = targetOf(query, request)
    // No Registry can serve an id that is not a path segment (RFC 3986 section 5.2.4), or not Unicode.
    if (target === null)
      return new ListingPage(NO_LISTING, { kind: upstream.kind, conditions: conditionsOf(query), offset: 0 })
    const { via = [], trace, ifMatch } = query
    const etag = earlierPage?.about.etag
    return send(
      {
        path: `/listings${target}`,
        purpose: purpose ?? purposeOf(query, request),
        trace,
        maxBytes: MAX_PAGE_BYTES,
        headers: {
          ...loopHeaders(via),
          ...(ifMatch !== undefined && { 'if-match': `"${ifMatch}"` }),
          ...(etag !== undefined && { 'if-none-match': etag }),
        },
      },
      (response) => {
        if (response.status === 304 && earlierPage !== undefined) {
          earlierPage.about.changesPosition = positionIn(response)
          return earlierPage
        }
        const page = readPage(response, query, request, upstream)
        onPage?.(page)
        return page
      },
    )
  }
}

/** Of the first page that every Registry can answer. */
export const PLAIN_REQUEST: PageRequest = { offset: 0, limit: 50 }

export function purposeOf(query: UpstreamQuery, { offset, limit }: PageRequest): Purpose {
  const { status, publisher, pushed, listingId } = query
  if (listingId !== undefined) return 'listing'
  const isFirstPage = offset === 0 && limit >= PLAIN_REQUEST.limit
  return isFirstPage && status === 'open' && publisher === null && pushed.length === 0
    ? 'page'
    : 'chosen_page'
}

function targetOf(query: UpstreamQuery, { offset, limit }: PageRequest): string | null {
  if (query.listingId !== undefined) return idPath(query.listingId)
  return `?${queryParameters(query)}&limit=${limit}&offset=${offset}`
}

/** @throws SourceError */
function readPage(
  response: HttpResponse,
  query: UpstreamQuery,
  { offset }: PageRequest,
  upstream: PageEndpoint,
): ListingPage {
  const { kind } = upstream
  const { status, headers, body } = response
  if (status !== 200 && !isAbsent(response, query, kind)) throw refusalOf(response, query, upstream)
  const conditions = conditionsOf(query)
  const sentAge = ageIn(headers)
  if (query.listingId !== undefined) {
    const page = status === 200 ? wrapListing(body, query.listingId) : NO_LISTING
    return new ListingPage(page, { kind, conditions, offset: 0, sentAge })
  }
  const changesPosition = positionIn(response)
  const about = {
    offset,
    sentAge,
    etag: headers.etag,
    changesPosition,
    ...readVia(query, headers, kind),
  }
  const page = new ListingPage(body, { kind, conditions, ...about })
  const filters = query.criteria.flatMap(({ filter: { name, parseDerived } }) => (parseDerived ? name : []))
  const sent = filters.filter((name) => query.pushed.some(([parameter]) => parameter === name))
  if (sent.length === 0 || page.isJudged) return page
  throw new SourceError('unsupported_filter', `${upstream.name}: ignores ${sent.join(', ')}`, {
    filters: sent,
  })
}

/** Seconds in a cache on the way (RFC 9111 section 5.1); a malformed number counts as 0. */
function ageIn({ age = '' }: IncomingHttpHeaders): number {
  return /^\d+$/.test(age) ? Math.min(Number(age), MAX_AGE_SECONDS) : 0
}

const MAX_AGE_SECONDS = 2 ** 31

/** Of an upstream that has `GET /changes`: the position before it answered. */
function positionIn({ headers }: HttpResponse): string | undefined {
  const position = headers['changes-position']
  return typeof position === 'string' && POSITION.test(position) ? position : undefined
}

/** An empty `status` selects every status. */
export function queryParameters({ status, publisher, pushed }: UpstreamQuery): string {
  const whose = publisher === null ? '' : `&publisher=${encodeURIComponent(publisher)}`
  const sent = pushed.length === 0 ? '' : `&${new URLSearchParams(pushed.map((filter) => [...filter]))}`
  return `status=${status ?? ''}${whose}${sent}`
}

function idPath(listingId: string): string | null {
  if (listingId === '.' || listingId === '..' || !listingId.isWellFormed()) return null
  return `/${encodeURIComponent(listingId)}`
}

/**
 * Sources that a gateway skipped as a loop were read by the gateways before it, and are not missing; except
 * where the question begins here, or the gateway has our own id (`Via`, RFC 9110 7.6.3).
 */
export function readVia(
  { via }: UpstreamQuery,
  headers: IncomingHttpHeaders,
  kind: UpstreamKind,
): Pick<PageOptions, 'missing' | 'gatewayId'> {
  if (kind !== 'gateway') return { missing: { ignoreLoops: true } }
  const hops = (headers.via ?? '')
    .toString()
    .split(',')
    .map((hop) => hop.trim().split(/\s+/)[1])
  const ownId = via?.at(-1)
  if (ownId === undefined || hops.includes(ownId)) return { missing: { ignoreLoops: false } }
  return { missing: { ignoreLoops: true, ownId }, gatewayId: hops.find(isPseudonym) }
}

/** Neither an incomplete gateway nor the HTML page of a proxy proves that a listing does not exist. */
function isAbsent(response: HttpResponse, { listingId }: UpstreamQuery, kind: UpstreamKind): boolean {
  const { status, headers } = response
  return (
    status === 404 && listingId !== undefined && isJson(headers) && missingIn(response, kind).every(isLoop)
  )
}

function refusalOf(response: HttpResponse, query: UpstreamQuery, upstream: PageEndpoint): SourceError {
  const { status, body } = response
  const { name, kind } = upstream
  if (status === 400 && query.pushed.length > 0 && !isAboutPaging(body)) {
    const filters = refusedFilters(body, query.pushed)
    return new SourceError('unsupported_filter', `${name}: refused ${filters.join(', ')}`, { filters })
  }
  if (refusesUnsigned(response))
    return new SourceError('signed_requests_required', `${name}: ${ANSWERS_SIGNED}`)
  const reported = missingIn(response, kind)
  const hasPassedOthers = (query.via?.length ?? 0) > 1
  const reason = status === 508 && hasPassedOthers && reported.some(isLoop) ? 'loop' : undefined
  return statusError(`${name}:`, response, { reason, missing: reported.filter((entry) => !isLoop(entry)) })
}

const REPORTING: ReadonlySet<number> = new Set([404, 502, 503, 504, 508])

function missingIn({ status, body }: HttpResponse, kind: UpstreamKind): readonly MissingSource[] {
  return kind === 'gateway' && REPORTING.has(status) ? readMissingInProblem(body.toString()) : []
}

function isLoop({ reason }: MissingSource): boolean {
  return reason === 'loop'
}

function isJson(headers: IncomingHttpHeaders): boolean {
  return /^application\/([\w.+-]+\+)?json\b/i.test(headers['content-type'] ?? '')
}

/** A gateway also refuses offsets and cursors with 400. */
function isAboutPaging(body: Buffer): boolean {
  return /"(offset \+ limit|cursor:)/.test(body.toString('latin1', 0, 2000))
}

const NO_LISTING = renderEnvelope([], 0)

/** A gateway's answer also has `sources`. */
const MAX_AROUND_BYTES = 64 * 1024

/**
 * @throws SourceError `not_json` | `too_large` | `bad_envelope`, the last also for a listing of another id
 */
function wrapListing(body: Buffer, listingId: string): Buffer {
  if (body.length > MAX_ITEM_BYTES + MAX_AROUND_BYTES)
    throw new SourceError('too_large', 'the listing is longer than a listing may be')
  const value = parse(body)
  // The deployed clients also accept a bare row.
  const listing = isJsonObject(value) && isJsonObject(value.listing) ? value.listing : value
  if (!isJsonObject(listing) || listing.listing_id !== listingId)
    throw new SourceError('bad_envelope', 'the answer is not the requested listing')
  const isBare = listing === value
  const member = isBare ? null : objectMembers(body).findLast(({ name }) => name === 'listing')!
  const row = member === null ? body : body.subarray(member.value.start, member.value.end)
  const { complete, sources = [] } = isBare ? {} : (value as JsonObject)
  const missing = complete === false ? `,"complete":false,"sources":${JSON.stringify(sources)}` : ''
  return renderEnvelope([row], 1, missing)
}

function parse(body: Buffer): JsonValue {
  try {
    return JSON.parse(body.toString())
  } catch (cause) {
    throw notJson(cause)
  }
}

/** Those that the `detail` of a 400 names, or else all. */
function refusedFilters(body: Buffer, pushed: UpstreamQuery['pushed']): string[] {
  const sent = [...new Set(pushed.map(([parameter]) => filterNameOf(parameter)))]
  const { detail } = parseObject(body.toString())
  const words = typeof detail === 'string' ? detail.split(/[^\w.-]+/) : []
  const named = new Set(words.map((word) => filterNameOf(word.replace(/\.+$/, ''))))
  const refused = sent.filter((name) => named.has(name))
  return refused.length > 0 ? refused : sent
}
