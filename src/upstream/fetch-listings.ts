import type { Dispatcher } from 'undici'
import { untilAborted, withDeadline } from '../domain/deadline.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import { type ListingPage, MAX_PAGE_ITEMS, parseListingPage } from './listing-page.ts'
import { ACCEPT_ENCODING, discardBody, readBody } from './read-body.ts'
import { refusedFilters } from './refused-filters.ts'
import { reasonOfStatus, toSourceError } from './source-reason.ts'

/** One answer, after decompression. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024
/** What is read of an answer that is only looked at for the names of filters. */
export const MAX_ERROR_BYTES = 16 * 1024

/** Asks one upstream for the listings `[offset, offset + 200)` of a query. */
export type FetchListings = (query: ListingQuery, offset: number, signal: AbortSignal) => Promise<ListingPage>

/**
 * One `GET {url}/listings` (`protocol.md` 1.7) with the upstream's bearer key, headers and body within `timeoutMs`.
 * Every failure is a `SourceError`; a 400 to a query with filters is `unsupported_filter`.
 */
export const fetchListings = (upstream: UpstreamOptions, agent: Dispatcher): FetchListings => {
  const { origin, pathname } = new URL(upstream.url)
  const path = `${pathname.replace(/\/+$/, '')}/listings`
  const headers = {
    accept: 'application/json',
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': 'entrepot',
    ...(upstream.key === null ? {} : { authorization: `Bearer ${upstream.key}` }),
  }
  const { name, timeoutMs: ms } = upstream

  return async (query, offset, caller) => {
    const late = new SourceError('timeout', `${name}: no answer within ${ms} ms`)
    const target = `${path}?${listingParameters(query, offset)}`
    try {
      const body = await withDeadline({ ms, late, caller }, (signal) =>
        untilAborted(get(agent, { origin, path: target, method: 'GET', headers, signal }, query), signal),
      )
      return parseListingPage(body)
    } catch (error) {
      throw caller.aborted ? caller.reason : toSourceError(error, name)
    }
  }
}

/** An empty `status` asks for every status. */
const listingParameters = ({ status, publisher, filters }: ListingQuery, offset: number): URLSearchParams => {
  const parameters = new URLSearchParams({ status: status ?? '' })
  if (publisher !== null) parameters.set('publisher', publisher)
  for (const [name, value] of filters) parameters.append(name, value)
  parameters.set('limit', String(MAX_PAGE_ITEMS))
  parameters.set('offset', String(offset))
  return parameters
}

const get = async (
  agent: Dispatcher,
  request: Dispatcher.RequestOptions & { origin: string },
  query: ListingQuery,
): Promise<Buffer> => {
  const { statusCode, headers, body } = await agent.request(request)
  const encoding = headers['content-encoding']
  if (statusCode === 200) return readBody(body, encoding?.toString(), MAX_PAGE_BYTES)
  if (statusCode === 400 && query.filters.length > 0) {
    const text = await readBody(body, encoding?.toString(), MAX_ERROR_BYTES)
    const filters = refusedFilters(text, query.filters)
    throw new SourceError('unsupported_filter', `refused the filters ${filters.join(', ')}`, { filters })
  }
  discardBody(body)
  throw new SourceError(reasonOfStatus(statusCode), `answered ${statusCode}`)
}
