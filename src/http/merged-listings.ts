import { Readable } from 'node:stream'
import type { Reader } from '../domain/api-key.ts'
import type { Clock } from '../domain/clock.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { askPage } from '../gateway/ask-page.ts'
import { renderItem, renderMerged } from '../gateway/envelope.ts'
import type { Asking, Federation, MergedAnswer } from '../gateway/fan-out.ts'
import { passageOf } from '../gateway/loop.ts'
import type { StreamListings } from '../gateway/ndjson.ts'
import type { Paging } from '../gateway/paging.ts'
import type { Vocabulary } from '../gateway/vocabulary.ts'
import { NDJSON_TYPE, wantsNdjson } from './accept.ts'
import { namesEtag, requireEtag } from './etag.ts'
import type { Answer, Exchange } from './exchange.ts'
import { GATEWAY_ONLY, readGatewayParameters } from './gateway-parameters.ts'
import { queryOf } from './listing-query.ts'
import { listingParameters } from './listing-reads.ts'
import { type MergedHeaderOptions, mergedHeaders, streamHeaders } from './merged-headers.ts'
import { mergedEnvelope } from './merged-wire.ts'
import { IF_NONE_MATCH, readStatusParameter } from './parameters.ts'
import { requestCaching } from './request-caching.ts'
import type { Route } from './route.ts'

/** What the merged list is answered from. */
export type MergedListings = MergedHeaderOptions & {
  spec: FilterSpec
  vocabulary: Vocabulary
  federation: Federation
  paging: Paging
  stream: StreamListings
  clock: Clock
}

/** `GET /listings` of a gateway: the merged envelope of `contract.md` 3.1. */
export const listMergedListings = (gateway: MergedListings): Route => ({
  method: 'GET',
  path: '/listings',
  gate: 'read',
  summary: 'List the listings that match, of every source that the reader may see',
  description:
    'Newest first, each listing once. Every further query parameter is a filter of the filter spec; all have to match. ' +
    'With `Accept: application/x-ndjson` the whole sequence comes, one listing a line, whatever the page; ' +
    'its last line holds `_meta` with `complete` and `sources`.',
  parameters: [...listingParameters(gateway.spec), ...GATEWAY_ONLY, IF_NONE_MATCH],
  answers: {
    200: { description: 'A page of listings, and how each source answered', schema: mergedEnvelope },
    304: { description: 'It is the one that you know' },
  },
  refusals: [400, 412, 422, 502, 503, 504, 508],
  handle: (exchange) => readMerged(exchange, gateway),
})

const readMerged = async (exchange: Exchange, gateway: MergedListings): Promise<Answer> => {
  const { queryString, header, listHeader, reader, signal, trace } = exchange
  const { spec, vocabulary, gatewayId } = gateway
  const parameters = readGatewayParameters(queryString)
  const ifMatch = header('if-match')
  const words = await vocabulary(reader, ifMatch === undefined ? parameters.filters : undefined)
  // Who has read our own spec only, as a plain Registry's, asks by it just as well.
  requireEtag(ifMatch, words.etag, spec.etag)
  const { via, isLoop } = passageOf(listHeader('cdn-loop'), gatewayId)
  const status = readStatusParameter(parameters.status)
  const caching = requestCaching(listHeader('cache-control'), listHeader('pragma'))
  const query = {
    ...queryOf(words, status, parameters),
    via,
    explain: parameters.explain,
    ...(caching === undefined ? {} : { caching }),
    ...(trace === undefined ? {} : { trace }),
  }
  const asking = { ...parameters, isLoop }
  if (wantsNdjson(listHeader('accept'))) return streamMerged(gateway, query, { reader, signal, asking })
  const answer = await askPage(gateway, query, parameters.cursor, { reader, signal, asking })
  const rows = answer.items.map(renderItem)
  const headers = mergedHeaders(answer, rows, reader, gateway)
  if (namesEtag(header('if-none-match'), etagIn(headers))) return { status: 304, headers }
  const isCurrent = currency(answer, gateway.clock)
  return { body: renderMerged(answer, rows), headers, ...(isCurrent === null ? {} : { isCurrent }) }
}

/**
 * How long an answer may be given again as it is: while everything that it was made of stands, and none of it is a
 * second older. `null` for one that says how it was fetched, which is true only once.
 */
const currency = ({ outcomes }: MergedAnswer, clock: Clock): (() => boolean) | null => {
  const checks: ((now: number) => boolean)[] = []
  let nextSecond = Number.POSITIVE_INFINITY
  for (const { source, result } of outcomes) {
    if (result instanceof SourceError || result.isCurrent === undefined) return null
    checks.push(result.isCurrent)
    if (source.mode === 'local') continue
    if (result.cache?.outcome !== 'hit') return null
    nextSecond = Math.min(nextSecond, 1 - (result.ageSeconds % 1))
  }
  const until = clock.now() + nextSecond * 1000
  return () => {
    const now = clock.now()
    return now < until && checks.every((isCurrent) => isCurrent(now))
  }
}

/** A stream has no pages: `limit`, `offset` and `cursor` mean nothing. */
const streamMerged = async (
  gateway: MergedListings,
  query: ListingQuery,
  { reader, signal, asking }: { reader: Reader; signal: AbortSignal; asking: Asking },
): Promise<Answer> => {
  const { outcomes, lines } = await gateway.stream(query, reader, signal, asking)
  return {
    type: NDJSON_TYPE,
    body: Readable.from(lines, { objectMode: false }),
    headers: streamHeaders(outcomes, gateway),
  }
}

const etagIn = ({ ETag: etag = '' }: Record<string, string>): string => etag.replace(/^W\/"|"$/g, '')
