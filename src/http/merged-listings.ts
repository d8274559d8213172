import { Readable } from 'node:stream'
import type { Reader } from '../domain/api-key.ts'
import type { Clock } from '../domain/clock.ts'
import type { ListingQuery } from '../domain/query.ts'
import { SourceError } from '../domain/source-error.ts'
import { EntrepotError } from '../errors.ts'
import type { FilterSpec } from '../filter-spec/filter.ts'
import { parseCdnLoop } from '../gateway/cdn-loop.ts'
import { CURSOR_SECONDS } from '../gateway/cursor.ts'
import { renderMerged } from '../gateway/envelope.ts'
import type { StreamListings } from '../gateway/ndjson.ts'
import type { FanOutOptions } from '../gateway/outcome.ts'
import type { MergedPage, ReadPage } from '../gateway/pages.ts'
import type { CurrentSpec, Vocabulary } from '../gateway/vocabulary.ts'
import { NDJSON_TYPE, wantsNdjson } from './accept.ts'
import { namesEtag, requireEtag } from './etag.ts'
import type { Answer, Exchange } from './exchange.ts'
import { GATEWAY_ONLY, type GatewayParameters, readGatewayParameters } from './gateway-parameters.ts'
import { queryOf } from './listing-query.ts'
import { listingParameters } from './listing-reads.ts'
import { type MergedHeaderOptions, mergedHeaders, streamHeaders } from './merged-headers.ts'
import { mergedEnvelope } from './merged-wire.ts'
import { IF_NONE_MATCH, readStatusParameter } from './parameters.ts'
import { requestCaching } from './request-caching.ts'
import type { Route } from './route.ts'

export type MergedListings = MergedHeaderOptions & {
  spec: FilterSpec
  vocabulary: Vocabulary
  readPage: ReadPage
  stream: StreamListings
  budgetMs: number
  clock: Clock
}

export const listMergedListings = (gateway: MergedListings): Route => ({
  method: 'GET',
  path: '/listings',
  gate: 'read',
  summary: 'List matching listings of every source that the reader may see',
  description:
    'Newest first, each listing once, ordered by its newest copy and shown by the copy of the best source that was read. ' +
    'Every further query parameter is a filter of the filter spec; all have to match. `offset` and `limit` count merged ' +
    'listings, and pages of an unchanged market neither lose nor repeat one. `cursor` continues without that bound: nothing that did not ' +
    'change is lost; a listing with copies in live sources or in gateways may come again, with the same id and ' +
    'publisher. `Accept: application/x-ndjson` streams the whole sequence, one listing a line and none twice; its last ' +
    'line holds `_meta` with `complete` and `sources`.',
  parameters: [...listingParameters(gateway.spec), ...GATEWAY_ONLY, IF_NONE_MATCH],
  answers: {
    200: { description: 'A page of listings, and how each source answered', schema: mergedEnvelope },
    304: { description: 'Not modified' },
  },
  refusals: [400, 412, 422, 502, 503, 504, 508],
  handle: (exchange) => readMerged(exchange, gateway),
})

async function readMerged(exchange: Exchange, gateway: MergedListings): Promise<Answer> {
  const { queryString, header, listHeader, reader, signal, trace } = exchange
  const parameters = readGatewayParameters(queryString)
  const { vocabulary, leftMs } = await readVocabulary(exchange, gateway, parameters)
  const { via, isLoop } = parseCdnLoop(listHeader('cdn-loop'), gateway.gatewayId)
  const status = readStatusParameter(parameters.status)
  const caching = requestCaching(listHeader('cache-control'), listHeader('pragma'))
  const query = {
    ...queryOf(vocabulary, status, parameters),
    via,
    ...(parameters.explain ? { explain: true } : {}),
    ...(caching === undefined ? {} : { caching }),
    ...(trace === undefined ? {} : { trace }),
  }
  const options = { named: parameters.named, requireAll: parameters.requireAll, budgetMs: leftMs, isLoop }
  if (wantsNdjson(listHeader('accept'))) {
    if (parameters.cursor !== null)
      throw new EntrepotError('bad_request', 'cursor: a stream has no pages; ask without it')
    return streamMerged(gateway, query, { reader, signal, options })
  }
  const page = await gateway.readPage(query, parameters.cursor, { reader, signal, options })
  const { body, rows } = renderMerged(page)
  const headers = mergedHeaders(page, rows, reader, gateway)
  if (namesEtag(header('if-none-match'), etagIn(headers))) return { status: 304, headers }
  const isCurrent = currency(page, parameters.filters.length === 0 ? null : vocabulary, gateway.clock)
  return { body, headers, ...(isCurrent === null ? {} : { isCurrent }) }
}

/** Waiting for the filters is part of the budget. */
async function readVocabulary(
  { header, reader, signal: caller }: Exchange,
  { vocabulary, spec, budgetMs }: MergedListings,
  parameters: GatewayParameters,
): Promise<{ vocabulary: CurrentSpec; leftMs: number }> {
  const started = performance.now()
  const ifMatch = header('if-match')
  const ms = parameters.budgetMs ?? budgetMs
  const asked = ifMatch === undefined ? parameters.filters : undefined
  const read = await vocabulary(reader, { ms, caller }, asked)
  // Readers may know only our own filter spec, so its etag matches, too.
  requireEtag(ifMatch, read.etag, spec.etag)
  return { vocabulary: read, leftMs: Math.max(1, ms - (performance.now() - started)) }
}

/**
 * Whether the answer may be served again: every Reading and the filters are current, no age is a second
 * older, and a cursor has half its life left. `null`: never.
 */
function currency(page: MergedPage, vocabulary: CurrentSpec | null, clock: Clock): (() => boolean) | null {
  const checks: ((now: number) => boolean)[] = vocabulary === null ? [] : [vocabulary.isCurrent]
  const now = clock.now()
  let until = page.nextCursor === undefined ? Number.POSITIVE_INFINITY : now + (CURSOR_SECONDS / 2) * 1000
  for (const { source, result } of page.outcomes) {
    if (result instanceof SourceError || result.isCurrent === undefined) return null
    checks.push(result.isCurrent)
    if (source.mode === 'local') continue
    if (result.cache?.outcome !== 'hit') return null
    until = Math.min(until, result.asOf + Math.floor((now - result.asOf) / 1000 + 1) * 1000)
  }
  return whileCurrent(checks, now, until, clock)
}

/** A separate function, so that the closure does not keep the answer in memory. */
const whileCurrent =
  (checks: readonly ((now: number) => boolean)[], from: number, until: number, clock: Clock) =>
  (): boolean => {
    const now = clock.now()
    return from <= now && now < until && checks.every((isCurrent) => isCurrent(now))
  }

async function streamMerged(
  gateway: MergedListings,
  query: ListingQuery,
  asking: { reader: Reader; signal: AbortSignal; options: FanOutOptions },
): Promise<Answer> {
  const { outcomes, lines } = await gateway.stream(query, asking)
  return {
    type: NDJSON_TYPE,
    body: Readable.from(lines, { objectMode: false }),
    headers: streamHeaders(outcomes, gateway),
  }
}

const etagIn = ({ ETag: etag = '' }: Record<string, string>): string => etag.replace(/^W\/"|"$/g, '')
