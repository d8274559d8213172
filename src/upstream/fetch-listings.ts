import type { Dispatcher } from 'undici'
import { untilAborted, withDeadline } from '../domain/deadline.ts'
import type { Directives } from '../domain/freshness.ts'
import { describeGaps, type Gap, type GapOptions, gapsInProblem } from '../domain/gap.ts'
import { isPseudonym } from '../domain/pseudonym.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import { traceHeaders } from '../domain/trace.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import { cacheDirectives } from './cache-directives.ts'
import { hopHeaders } from './hop-headers.ts'
import { type ListingPage, MAX_PAGE_ITEMS, parseListingPage } from './listing-page.ts'
import { NO_LISTING, parseOneListing } from './one-listing.ts'
import { withoutOwnKey } from './own-key.ts'
import { discardBody, readBody } from './read-body.ts'
import { refusedFilters } from './refused-filters.ts'
import { requestHeaders } from './request-headers.ts'
import { retryAfterMs } from './retry-after.ts'
import { reasonOfStatus, toSourceError } from './source-reason.ts'

/** One answer, after decompression. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024
/** What is read of an answer that is only looked at for why it was refused. */
export const MAX_ERROR_BYTES = 16 * 1024

/** Asks one upstream for the listings `[offset, offset + 200)` of a query, or for the one that it names. */
export type FetchListings = (query: ListingQuery, offset: number, signal: AbortSignal) => Promise<ListingPage>

/**
 * One `GET {url}/listings` or `GET {url}/listings/{id}` (`protocol.md` 1.7, 1.6) with the upstream's bearer key, headers and body within `timeoutMs`.
 * Every failure is a `SourceError`; a 400 to a query with filters is `unsupported_filter`.
 */
export const fetchListings = (upstream: UpstreamOptions, agent: Dispatcher): FetchListings => {
  const { origin, pathname } = new URL(upstream.url)
  const path = `${pathname.replace(/\/+$/, '')}/listings`
  const headers = requestHeaders(upstream)
  const { name, timeoutMs: ms } = upstream

  return async (query, offset, caller) => {
    // As a path it would lead elsewhere (RFC 3986 section 5.2.4), so no Registry can serve it.
    if (query.listingId === '.' || query.listingId === '..') return parseListingPage(NO_LISTING)
    const late = new SourceError('timeout', `${name}: no answer within ${ms} ms`)
    const target = {
      origin,
      path:
        query.listingId === undefined
          ? `${path}?${listingParameters(query, offset)}`
          : `${path}/${encodeURIComponent(query.listingId)}`,
      method: 'GET',
      headers: {
        ...headers,
        ...hopHeaders(query.via),
        ...traceHeaders(query.trace),
        ...(query.ifMatch === undefined ? {} : { 'if-match': `"${query.ifMatch}"` }),
      },
    } as const
    try {
      const answer = await withDeadline({ ms, late, caller }, (signal) =>
        untilAborted(get(agent, { ...target, signal }, query, upstream), signal),
      )
      const { directives, teller } = answer
      const page = parseAnswer(answer, query, upstream)
      return { ...page, directives, ...(teller === undefined ? {} : { teller }) }
    } catch (error) {
      throw caller.aborted ? caller.reason : toSourceError(error, name)
    }
  }
}

const parseAnswer = (
  { body, ...options }: Answer,
  { listingId }: ListingQuery,
  { kind }: UpstreamOptions,
): ListingPage =>
  listingId === undefined ? parseListingPage(body, kind, options) : parseOneListing(body, listingId, kind)

/** `teller`: the id of the gateway that answered; undefined where it does not say it. */
type Answer = { body: Buffer; directives: Directives; teller?: string | undefined } & GapOptions

/** What a query asks, without paging. An empty `status` asks for every status. */
export const queryParameters = ({ status, publisher, filters }: ListingQuery): URLSearchParams => {
  const parameters = new URLSearchParams({ status: status ?? '' })
  if (publisher !== null) parameters.set('publisher', publisher)
  for (const [name, value] of filters) parameters.append(name, value)
  return parameters
}

const listingParameters = (query: ListingQuery, offset: number): URLSearchParams => {
  const parameters = queryParameters(query)
  parameters.set('limit', String(MAX_PAGE_ITEMS))
  parameters.set('offset', String(offset))
  return parameters
}

const get = async (
  agent: Dispatcher,
  request: Dispatcher.RequestOptions & { origin: string },
  query: ListingQuery,
  { kind, key }: Pick<UpstreamOptions, 'kind' | 'key'>,
): Promise<Answer> => {
  const { statusCode, headers, body } = await agent.request(request)
  const encoding = headers['content-encoding']
  if (statusCode === 200)
    return {
      body: withoutOwnKey(await readBody(body, encoding?.toString(), MAX_PAGE_BYTES), key),
      directives: cacheDirectives(headers),
      ...(kind === 'gateway' ? aboutGaps(query, headers.via?.toString()) : { isLoopNone: true }),
    }
  const isTelling = kind === 'gateway' && TELLING.has(statusCode)
  const told = isTelling ? await readMissing(body, encoding?.toString(), key) : []
  const gaps = told.filter(({ reason }) => reason !== 'loop')
  // A gateway that could not ask for it everywhere has not said that there is no such listing.
  if (statusCode === 404 && query.listingId !== undefined && gaps.length === 0) {
    if (!isTelling) discardBody(body)
    return { body: NO_LISTING, directives: cacheDirectives(headers), isLoopNone: true }
  }
  if (statusCode === 400 && query.filters.length > 0) {
    const text = await readBody(body, encoding?.toString(), MAX_ERROR_BYTES)
    const filters = refusedFilters(text, query.filters)
    throw new SourceError('unsupported_filter', `refused the filters ${filters.join(', ')}`, { filters })
  }
  if (!isTelling) discardBody(body)
  const isAfterOthers = (query.via?.length ?? 0) > 1
  const hasBeenHere = statusCode === 508 && isAfterOthers && told.length > gaps.length
  const missing = gaps.length === 0 ? '' : `: ${describeGaps(gaps)}`
  throw new SourceError(
    hasBeenHere ? 'loop' : reasonOfStatus(statusCode),
    `answered ${statusCode}${missing}`,
    {
      retryAfterMs: retryAfterMs(headers['retry-after']?.toString(), Date.now()),
      gaps: gaps.length === 0 ? undefined : gaps,
    },
  )
}

/** What a gateway answers who has nothing to answer from, with what it could not reach (`contract.md` 3.1). */
const TELLING: ReadonlySet<number> = new Set([404, 502, 503, 504, 508])

/**
 * What a gateway left out as a loop is asked by those that the question has been through: not where nobody has sent it
 * on, nor where the gateway takes us for itself because it goes by our name (`Via`, RFC 9110 section 7.6.3).
 */
const aboutGaps = ({ via }: ListingQuery, header = ''): Omit<Answer, 'body' | 'directives'> => {
  const hops = header.split(',').map((hop) => hop.trim().split(/\s+/)[1])
  const ownId = via?.at(-1)
  const isNamesake = hops.includes(ownId)
  if (ownId === undefined || isNamesake) return { isLoopNone: false }
  return { isLoopNone: true, ownId, teller: hops.find(isPseudonym) }
}

const readMissing = async (
  body: Dispatcher.ResponseData['body'],
  encoding: string | undefined,
  key: string | null,
): Promise<readonly Gap[]> => {
  try {
    return gapsInProblem(withoutOwnKey(await readBody(body, encoding, MAX_ERROR_BYTES), key))
  } catch {
    return [] // the status is failure enough
  }
}
