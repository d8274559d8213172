import { MAX_FACETS, REGISTRY_FACET } from '../../gateway/counts/facets.ts'
import { sourceMembers } from '../../gateway/source-report.ts'
import { describeSummary } from '../../wire/describe-summary.ts'
import { facetsSchema } from '../../wire/facets.ts'
import {
  IF_MATCH,
  IF_NONE_MATCH,
  type IsParameter,
  marketRequestOf,
  NOT_MODIFIED,
  PRICE_MAX,
  PRICE_PER,
  PRICE_TOKEN,
  PUBLISHER,
  REQUIRE,
  readGatewayParameters,
  readMarketQuery,
  readNames,
  SOURCES,
  STATUS,
  TESTNET,
  TIMEOUT_MS,
  withFilters,
} from '../parameters.ts'
import { type HandlerResponse, parameter, type RequestContext, type Route } from '../route.ts'
import type { Gateway } from './listings.ts'
import { mergedHeaders } from './merged-headers.ts'

export const facetRoutes = (
  gateway: Gateway,
  { all, isParameter } = withFilters(PARAMETERS, gateway),
): Route[] => [
  {
    method: 'GET',
    path: '/facets',
    gate: 'read',
    summary: 'Counts of the matching listings per value, and their prices per token and unit',
    description:
      'Over distinct listings of all visible sources: a copy that `GET /listings` does not show does not count. Every ' +
      'other query parameter is a filter of the filter spec; all filters have to match. ' +
      '`prices` gives the least, the median and the most ' +
      'per GPU-hour or offer, for each token and unit by itself, for at most 32 of them.',
    parameters: [...all, IF_MATCH, IF_NONE_MATCH],
    responses: {
      200: { description: 'Counts, and a report of each source', schema: facetsSchema },
      304: NOT_MODIFIED,
    },
    problems: [400, 412, 422, 502, 503, 504, 508],
    handle: (request) => readFacets(gateway, request, isParameter),
  },
]

/** A filter `by` can be used with `GET /listings` only. */
const BY = parameter(
  'query',
  'by',
  `Comma-separated names of up to ${MAX_FACETS} filters whose values are counted, or \`${REGISTRY_FACET}\` for the ` +
    'source of the shown copy; default: prices only',
)

const PRICES_BY = parameter(
  'query',
  'prices_by',
  'Name of a filter: its most frequent values have prices of their own',
)

const PARAMETERS = [
  BY,
  PRICES_BY,
  STATUS,
  PUBLISHER,
  PRICE_PER,
  PRICE_MAX,
  PRICE_TOKEN,
  TESTNET,
  REQUIRE,
  TIMEOUT_MS,
  SOURCES,
]

async function readFacets(
  gateway: Gateway,
  context: RequestContext,
  isParameter: IsParameter,
): Promise<HandlerResponse> {
  const { market } = gateway
  const parameters = readGatewayParameters(context.queryString, isParameter)
  const request = marketRequestOf(context, parameters)
  const { texts } = parameters
  const query = await readMarketQuery(market, { ...parameters, texts: { ...texts, sort: '' } }, request, true)
  const by = { by: readNames(texts.by) ?? [], pricesBy: texts.prices_by || null }
  const answer = await market.facets({ ...query, ...by }, request)
  const { total, gpus, sellers, facets, prices, complete, sources, sourcesCounted, isCurrent } = answer
  const { copies, unplaced, suggestions, warnings } = answer
  const outliers = answer.outliers || undefined
  const not_counted = answer.notCounted
  const private_sources = answer.hasPrivate ? (true as const) : undefined
  const counted = { total, sellers, not_counted, prices, sources, sourcesCounted, private_sources, copies }
  const summary = describeSummary(counted)
  const contents = Buffer.from(JSON.stringify([gpus, sellers, facets, prices, outliers, not_counted]))
  const beside = { unplaced, suggestions, warnings, private_sources }
  const head = { total, gpus, sellers, outliers, not_counted }
  return {
    body: Buffer.from(
      JSON.stringify({ ...head, facets, prices, summary, ...beside, complete, ...sourceMembers(answer) }),
    ),
    headers: mergedHeaders({ ...answer, nextCursor: undefined }, contents, context.caller, gateway),
    isCurrent,
  }
}
