import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { isPseudonym } from '../../domain/names.ts'
import type { ListingQuery } from '../../domain/query.ts'
import { type MissingSource, readMissingInProblem } from '../../domain/source/missing-source.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { UpstreamKind, UpstreamOptions } from '../../domain/source/upstream.ts'
import { traceHeaders } from '../../domain/trace.ts'
import { filterNameOf } from '../../filter-spec/parameters.ts'
import { objectMembers } from '../../json/members.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from '../../json/value.ts'
import { renderEnvelope } from '../../wire/envelope.ts'
import type { HttpResponse } from '../http/client.ts'
import { statusError } from '../http/errors.ts'
import { cacheDirectives, createGet, loopHeaders } from '../http/get.ts'
import { notJson } from './envelope.ts'
import { scannerOf } from './item-scanner.ts'
import { ListingPage, MAX_ITEM_BYTES, type PageOptions } from './listing-page.ts'

/** After decompression. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024

export type PageRequest = {
  offset: number
  /** 1 to 200. */
  limit: number
  /** A gateway's cursor, sent instead of `offset`. */
  resume?: string | undefined
}

/** With `query.listingId`, a page of that listing. Rejects with a `SourceError`. */
export type FetchPage = (query: ListingQuery, request: PageRequest) => Promise<ListingPage>

/** A 400 to a query with filters is `unsupported_filter`. */
export function createFetchPage(upstream: UpstreamOptions, agent: Dispatcher): FetchPage {
  const { kind, key } = upstream
  const get = createGet(upstream, agent)
  return async (query, { offset, limit, resume }) => {
    const { listingId, via, trace, ifMatch } = query
    const from = resume === undefined ? `offset=${offset}` : `cursor=${encodeURIComponent(resume)}`
    const target =
      listingId === undefined ? `?${queryParameters(query)}&limit=${limit}&${from}` : idPath(listingId)
    const scanner = scannerOf(query)
    // No Registry can serve an id that is not a path segment (RFC 3986 section 5.2.4), or not Unicode.
    if (target === null) return new ListingPage(NO_LISTING, { kind, scanner, offset: 0 })
    const headers = {
      ...(via && loopHeaders(via)),
      ...(trace && traceHeaders(trace)),
      ...(ifMatch !== undefined && { 'if-match': `"${ifMatch}"` }),
    }
    const response = await get(`/listings${target}`, { maxBytes: MAX_PAGE_BYTES, headers, expected: 'any' })
    if (response.status !== 200 && !isAbsent(response, query, kind))
      throw refusalOf(response, query, upstream)
    const { status, body } = response
    const directives = cacheDirectives(response.headers, key !== null)
    if (listingId !== undefined) {
      const page = status === 200 ? wrapListing(body, listingId) : NO_LISTING
      return new ListingPage(page, { kind, scanner, offset: 0, directives })
    }
    const gateway = readVia(query, response.headers, kind)
    return new ListingPage(body, { kind, scanner, offset, resume, directives, ...gateway })
  }
}

/** An empty `status` selects every status. */
export function queryParameters({ status, publisher, filters }: ListingQuery): string {
  const whose = publisher === null ? '' : `&publisher=${encodeURIComponent(publisher)}`
  const sent = filters.length === 0 ? '' : `&${new URLSearchParams(filters.map((filter) => [...filter]))}`
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
  { via }: ListingQuery,
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
function isAbsent(response: HttpResponse, { listingId }: ListingQuery, kind: UpstreamKind): boolean {
  const { status, headers } = response
  return (
    status === 404 && listingId !== undefined && isJson(headers) && missingIn(response, kind).every(isLoop)
  )
}

function refusalOf(response: HttpResponse, query: ListingQuery, upstream: UpstreamOptions): SourceError {
  const { status, body } = response
  const { name, kind } = upstream
  if (status === 400 && query.filters.length > 0 && !isAboutPaging(body)) {
    const filters = refusedFilters(body, query.filters)
    return new SourceError('unsupported_filter', `${name}: refused ${filters.join(', ')}`, { filters })
  }
  if (status === 401 && body.includes('context_mismatch'))
    return new SourceError('signed_requests_required', `${name}: answers signed requests only`)
  const reported = missingIn(response, kind)
  const hasPassedOthers = (query.via?.length ?? 0) > 1
  const reason = status === 508 && hasPassedOthers && reported.some(isLoop) ? 'loop' : undefined
  return statusError(`${name}:`, response, { reason, missing: reported.filter((entry) => !isLoop(entry)) })
}

const REPORTING: ReadonlySet<number> = new Set([404, 502, 503, 504, 508])

function missingIn({ status, body }: HttpResponse, kind: UpstreamKind): readonly MissingSource[] {
  return kind === 'gateway' && REPORTING.has(status) ? readMissingInProblem(body) : []
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
function refusedFilters(body: Buffer, filters: ListingQuery['filters']): string[] {
  const sent = [...new Set(filters.map(([parameter]) => filterNameOf(parameter)))]
  const { detail } = parseObject(body.toString())
  const words = typeof detail === 'string' ? detail.split(/[^\w.-]+/) : []
  const named = new Set(words.map((word) => filterNameOf(word.replace(/\.+$/, ''))))
  const refused = sent.filter((name) => named.has(name))
  return refused.length > 0 ? refused : sent
}
