import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import {
  describeMissing,
  type MissingOptions,
  type MissingSource,
  missingInProblem,
} from '../../domain/missing-source.ts'
import { isPseudonym } from '../../domain/pseudonym.ts'
import type { ListingQuery } from '../../domain/query.ts'
import { SourceError } from '../../domain/source-error.ts'
import { traceHeaders } from '../../domain/trace.ts'
import type { UpstreamOptions } from '../../domain/upstream.ts'
import { objectMembers } from '../../json/members.ts'
import { isJsonObject, type JsonValue, parseJson } from '../../json/value.ts'
import { type HttpResponse, send } from '../http/client.ts'
import { parseRetryAfter, reasonOfStatus } from '../http/errors.ts'
import { cacheDirectives, loopHeaders, rejectKeyEcho, requestHeaders } from '../http/get.ts'
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
  const { name, timeoutMs } = upstream
  const { origin, pathname } = new URL(upstream.url)
  const path = `${pathname.replace(/\/+$/, '')}/listings`
  const headers = requestHeaders(upstream)
  return async (query, request) => {
    const target =
      query.listingId === undefined ? `?${pageParameters(query, request)}` : idPath(query.listingId)
    // No Registry can serve an id that is not a path segment (RFC 3986 section 5.2.4), or not Unicode.
    if (target === null) return onePage(NO_LISTING, query, upstream)
    const { via, trace, ifMatch } = query
    const response = await send(
      agent,
      {
        origin,
        path: path + target,
        headers: {
          ...headers,
          ...(via === undefined ? {} : loopHeaders(via)),
          ...(trace === undefined ? {} : traceHeaders(trace)),
          ...(ifMatch === undefined ? {} : { 'if-match': `"${ifMatch}"` }),
        },
        maxBytes: MAX_PAGE_BYTES,
        timeoutMs,
      },
      name,
    )
    rejectKeyEcho(response.body, upstream.key)
    if (response.status !== 200) return readRefusal(response, query, upstream)
    const directives = cacheDirectives(response.headers, upstream.key !== null)
    if (query.listingId !== undefined)
      return onePage(wrapListing(response.body, query.listingId), query, upstream, directives)
    return new ListingPage(response.body, {
      kind: upstream.kind,
      scanner: scannerOf(query),
      offset: request.offset,
      resume: request.resume,
      directives,
      ...readVia(query, response.headers, upstream),
    })
  }
}

/** An empty `status` selects every status. */
export function queryParameters({ status, publisher, filters }: ListingQuery): string {
  const whose = publisher === null ? '' : `&publisher=${encodeURIComponent(publisher)}`
  return `status=${status ?? ''}${whose}${filterParameters(filters)}`
}

function pageParameters(query: ListingQuery, { offset, limit, resume }: PageRequest): string {
  const from = resume === undefined ? `offset=${offset}` : `cursor=${encodeURIComponent(resume)}`
  return `${queryParameters(query)}&limit=${limit}&${from}`
}

const ENCODED = new WeakMap<ListingQuery['filters'], string>()

/** Cached: most upstreams are sent the same filters. */
function filterParameters(filters: ListingQuery['filters']): string {
  if (filters.length === 0) return ''
  const known = ENCODED.get(filters)
  if (known !== undefined) return known
  const parameters = new URLSearchParams()
  for (const [name, value] of filters) parameters.append(name, value)
  const encoded = `&${parameters}`
  ENCODED.set(filters, encoded)
  return encoded
}

function idPath(listingId: string): string | null {
  if (listingId === '.' || listingId === '..' || !listingId.isWellFormed()) return null
  return `/${encodeURIComponent(listingId)}`
}

function onePage(
  body: Buffer,
  query: ListingQuery,
  { kind }: UpstreamOptions,
  directives?: PageOptions['directives'],
): ListingPage {
  return new ListingPage(body, {
    kind,
    scanner: scannerOf(query),
    offset: 0,
    ...(directives && { directives }),
  })
}

/**
 * Sources that a gateway skipped as a loop were read by the gateways before it, and are not missing; except
 * where the question begins here, or the gateway has our own id (`Via`, RFC 9110 7.6.3).
 */
export function readVia(
  { via }: ListingQuery,
  headers: IncomingHttpHeaders,
  { kind }: Pick<UpstreamOptions, 'kind'>,
): { missing: MissingOptions; gatewayId?: string | undefined } {
  if (kind !== 'gateway') return { missing: { ignoreLoops: true } }
  const hops = (headers.via ?? '')
    .toString()
    .split(',')
    .map((hop) => hop.trim().split(/\s+/)[1])
  const ownId = via?.at(-1)
  if (ownId === undefined || hops.includes(ownId)) return { missing: { ignoreLoops: false } }
  return { missing: { ignoreLoops: true, ownId }, gatewayId: hops.find(isPseudonym) }
}

const REPORTING: ReadonlySet<number> = new Set([404, 502, 503, 504, 508])

/** @throws SourceError except where the listing does not exist */
function readRefusal(
  { status, headers, body }: HttpResponse,
  query: ListingQuery,
  upstream: UpstreamOptions,
): ListingPage {
  const reported =
    upstream.kind === 'gateway' && REPORTING.has(status) ? missingInProblem(body) : NOTHING_MISSING
  const missing = reported.filter(({ reason }) => reason !== 'loop')
  // Neither an incomplete gateway nor the HTML page of a proxy proves that the listing does not exist.
  if (status === 404 && query.listingId !== undefined && missing.length === 0 && isJson(headers))
    return onePage(NO_LISTING, query, upstream, cacheDirectives(headers, upstream.key !== null))
  if (status === 400 && query.filters.length > 0 && !isAboutPaging(body)) {
    const filters = refusedFilters(body, query.filters)
    throw new SourceError('unsupported_filter', `${upstream.name}: refused ${filters.join(', ')}`, {
      filters,
    })
  }
  if (status === 401 && body.includes('context_mismatch'))
    throw new SourceError('signed_requests_required', `${upstream.name}: answers signed requests only`)
  const hasPassedOthers = (query.via?.length ?? 0) > 1
  const isLoop = status === 508 && hasPassedOthers && reported.length > missing.length
  const names = missing.length === 0 ? '' : `: ${describeMissing(missing)}`
  throw new SourceError(
    isLoop ? 'loop' : reasonOfStatus(status),
    `${upstream.name}: answered ${status}${names}`,
    {
      retryAfterMs: parseRetryAfter(headers['retry-after']?.toString(), Date.now()),
      missing: missing.length === 0 ? undefined : missing,
    },
  )
}

const NOTHING_MISSING: readonly MissingSource[] = []

function isJson(headers: IncomingHttpHeaders): boolean {
  return /^application\/([\w.+-]+\+)?json\b/i.test(headers['content-type'] ?? '')
}

/** A gateway also refuses offsets and cursors with 400. */
function isAboutPaging(body: Buffer): boolean {
  return /"(offset \+ limit|cursor:)/.test(body.toString('latin1', 0, 2000))
}

const NO_LISTING = Buffer.from('{"items":[],"count":0,"total_after_filter":0}')

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
    throw new SourceError('bad_envelope', 'the answer is not the listing that was asked for')
  const row = listing === value ? body : memberOf(body, 'listing')
  const { complete, sources } = listing === value || !isJsonObject(value) ? {} : value
  const missing = complete === false ? `,"complete":false,"sources":${JSON.stringify(sources ?? [])}` : ''
  return Buffer.concat([PAGE_START, row, Buffer.from(`],"count":1,"total_after_filter":1${missing}}`)])
}

const PAGE_START = Buffer.from('{"items":[')

function memberOf(body: Buffer, name: string): Buffer {
  const member = objectMembers(body).findLast((one) => one.name === name)!
  return body.subarray(member.value.start, member.value.end)
}

function parse(body: Buffer): JsonValue {
  try {
    return JSON.parse(body.toString())
  } catch (cause) {
    throw new SourceError('not_json', 'the answer is not JSON', { cause })
  }
}

/** Those that the `detail` of a 400 names, or else all. */
function refusedFilters(
  body: Buffer,
  filters: readonly (readonly [name: string, value: string])[],
): string[] {
  const asked = [...new Set(filters.map(([name]) => plainName(name)))]
  const words = new Set(
    detailOf(body)
      .split(/[^\w.-]+/)
      .map((word) => plainName(word.replace(/\.+$/, ''))),
  )
  const named = asked.filter((name) => words.has(name))
  return named.length > 0 ? named : asked
}

/** `strict.gpu_model` → `gpu_model` */
const plainName = (name: string): string => name.replace(/^strict\./, '')

function detailOf(body: Buffer): string {
  try {
    const value = parseJson(body.toString())
    return isJsonObject(value) && typeof value.detail === 'string' ? value.detail : ''
  } catch {
    // A refusal in another form names no filter.
    return ''
  }
}
