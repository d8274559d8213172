import { parsePriceQuestion } from '../../domain/price/price-parameters.ts'
import type { FilterSpec } from '../../filter-spec/filter.ts'
import { facetFields, MAX_FACETS, REGISTRY_FACET } from '../../gateway/facets.ts'
import { facetsSchema } from '../../wire/facets.ts'
import {
  filterParameters,
  IF_MATCH,
  IF_NONE_MATCH,
  NOT_MODIFIED,
  PRICE_MAX,
  PRICE_PER,
  PRICE_TOKEN,
  PUBLISHER,
  REQUIRE,
  readGatewayParameters,
  readNames,
  SOURCES,
  STATUS,
  TIMEOUT_MS,
} from '../parameters.ts'
import {
  type HandlerResponse,
  parameter,
  type RequestContext,
  type Route,
  type RouteParameter,
} from '../route.ts'
import { mergedHeaders } from './merged-headers.ts'
import { currency, type Gateway, marketQuery, readVocabulary } from './merged-listings.ts'

export const facetRoutes = (gateway: Gateway): Route[] => [
  {
    method: 'GET',
    path: '/facets',
    gate: 'read',
    summary: 'Counts of the matching listings per value, and their prices per token and unit',
    description:
      'Over distinct listings of all visible sources: a copy that `GET /listings` does not show does not count. Every ' +
      'other query parameter is a filter of the filter spec; all filters have to match. A live source with more than ' +
      '`scan_limit` matches is skipped, and the answer is not complete. `prices` gives the least, the median and the most ' +
      'per GPU-hour or offer, for each token and unit by itself, for at most 32 of them.',
    parameters: [...PARAMETERS, IF_MATCH, IF_NONE_MATCH, ...usableFilters(gateway.spec)],
    responses: {
      200: { description: 'Counts, and a report of each source', schema: facetsSchema },
      304: NOT_MODIFIED,
    },
    problems: [400, 412, 422, 502, 503, 504, 508],
    handle: (request) => readMarket(request, gateway),
  },
]

const BY = parameter(
  'query',
  'by',
  `Comma-separated names of up to ${MAX_FACETS} filters whose values are counted, or \`${REGISTRY_FACET}\` for the ` +
    'source of the shown copy; default: prices only',
)

const PARAMETERS = [BY, STATUS, PUBLISHER, PRICE_PER, PRICE_MAX, PRICE_TOKEN, REQUIRE, TIMEOUT_MS, SOURCES]

const RESERVED: ReadonlySet<string> = new Set(PARAMETERS.map(({ name }) => name))

/** A filter `by` can be used with `GET /listings` only. */
const usableFilters = (spec: FilterSpec): RouteParameter[] =>
  filterParameters(spec).filter(({ name }) => !RESERVED.has(name))

async function readMarket(request: RequestContext, gateway: Gateway): Promise<HandlerResponse> {
  const parameters = readGatewayParameters(request.queryString, RESERVED)
  const { texts } = parameters
  const names = readNames(texts.by) ?? []
  const counted = names.flatMap((name): [string, string][] => (name === REGISTRY_FACET ? [] : [[name, '']]))
  const filters = [...parameters.filters, ...counted]
  const read = await readVocabulary(request, gateway, { ...parameters, filters })
  const price = parsePriceQuestion(gateway.tokens, { ...texts, sort: '' }, { countsPrices: true })
  const { query, context } = marketQuery(request, gateway, { ...read, parameters, price })
  const by = facetFields(names, read.vocabulary.filters)
  const found = await gateway.readFacets({ ...query, by, per: price.per }, context)
  const { total, facets, prices, complete, sources, outcomes } = found
  const contents = Buffer.from(JSON.stringify([facets, prices]))
  const vocabulary = filters.length === 0 ? null : read.vocabulary
  return {
    body: Buffer.from(JSON.stringify({ total, facets, prices, complete, sources })),
    headers: mergedHeaders({ ...found, nextCursor: undefined }, contents, request.reader, gateway),
    isCurrent: currency({ outcomes, nextCursor: undefined }, vocabulary, gateway.clock),
  }
}
