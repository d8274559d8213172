import { LISTING_STATUSES } from '../domain/listing.ts'
import { PRICE_PERS } from '../domain/price/price-key.ts'
import { SORTS } from '../domain/price/price-parameters.ts'
import { type Caching, DEFAULT_LIMIT, MAX_LIMIT } from '../domain/query.ts'
import { EntrepotError, type Violation } from '../errors.ts'
import type { Filter, FilterSpec } from '../filter-spec/filter.ts'
import { OPERATIONS } from '../filter-spec/operations/operations.ts'
import { decodeQuery, describeFilter, isOwnParameter, type OwnParameter } from '../filter-spec/parameters.ts'
import type { Market } from '../gateway/market.ts'
import type { MarketQuery, MarketRequest } from '../gateway/market-query.ts'
import { isCursorText } from '../gateway/pages/cursor.ts'
import { readQuestion } from '../gateway/read-question.ts'
import { invalid } from '../registry/errors.ts'
import {
  type IntegerParameter,
  integerParameter,
  parameter,
  type QueryTexts,
  type RequestContext,
  type RouteParameter,
} from './route.ts'

export const LIMIT = integerParameter('query', 'limit', 'Page size', {
  minimum: 1,
  maximum: MAX_LIMIT,
  default: DEFAULT_LIMIT,
})
export const OFFSET = integerParameter('query', 'offset', 'Matches to skip', { minimum: 0, default: 0 })
export const STATUS = parameter(
  'query',
  'status',
  'Empty: every status. A gateway lists only open listings of other Registries; `GET /listings/{id}` finds any',
  {
    enum: [...LISTING_STATUSES, ''],
    default: 'open',
  },
)
export const PUBLISHER = parameter(
  'query',
  'publisher',
  'Signing address of one publisher, in any case, or `ed25519:` and its public key',
)
export const LISTING_ID = parameter('path', 'id', 'The listing id, percent-encoded')
export const IF_MATCH = parameter(
  'header',
  'If-Match',
  'Etag of the filter spec that the filters were written for; 412 if it has changed',
)
export const IF_NONE_MATCH = parameter('header', 'If-None-Match', '304 if it names the current `ETag`')
const SORT = ownParameter(
  'sort',
  '`price`: cheapest first. Prices of one unit compare: of `price_token`, where hours come first, or else per ' +
    'token. Those of most publishers come first, and listings without such a price last',
  { enum: SORTS, default: SORTS[0] },
)
export const PRICE_TOKEN = ownParameter(
  'price_token',
  'A symbol of `GET /tokens`, such as `USDC` on every chain or `base:USDC`, or `CHAIN:ADDRESS`',
)
export const PRICE_MAX = ownParameter(
  'price_max',
  'Only listings with a price of at most this many whole tokens of `price_token`, such as `2.10`; default: of the first of `GET /tokens`',
  { type: 'string', pattern: '^[0-9]+([.][0-9]+)?$' },
)
export const PRICE_PER = ownParameter(
  'price_per',
  'Whether prices are of one GPU (default) or of the whole offer',
  // Without a `default`, which generated clients would send: by itself the parameter is refused.
  { enum: PRICE_PERS },
)
export const TESTNET = ownParameter(
  'testnet',
  'With `price_token`: also its tokens of test networks, which are worth nothing',
  { enum: ['true', 'false'] },
)
export const TIMEOUT_MS = integerParameter(
  'query',
  'timeout_ms' satisfies OwnParameter,
  'Time budget; a source that has not answered in time is `unavailable`',
  { minimum: 100, maximum: 10_000 },
)
export const REQUIRE = ownParameter('require', '`all`: 502 unless every source has a current answer', {
  enum: ['all'],
})
export const SOURCES = ownParameter(
  'sources',
  'Comma-separated names of the sources to request; default: all visible sources. A gateway that reads this one, too, ' +
    'is shown without what it has from here',
)
const CURSOR = ownParameter(
  'cursor',
  '`next_cursor` of an earlier response to the same query: continues after that page',
)

export const NOT_MODIFIED = { description: 'Not modified' }

/** A parameter of the query that the deployed protocol lacks. */
function ownParameter(
  name: OwnParameter,
  description: string,
  schema?: RouteParameter['schema'],
): RouteParameter {
  return parameter('query', name, description, schema)
}

/** Of `GET /listings` at a plain Registry. */
export const REGISTRY_PARAMETERS: readonly RouteParameter[] = [
  STATUS,
  PUBLISHER,
  LIMIT,
  OFFSET,
  SORT,
  PRICE_TOKEN,
  PRICE_MAX,
  PRICE_PER,
  TESTNET,
]

/** docs/contract.md#36-further-parameters. */
export const GATEWAY_PARAMETERS: readonly RouteParameter[] = [
  ...REGISTRY_PARAMETERS,
  REQUIRE,
  TIMEOUT_MS,
  SOURCES,
  CURSOR,
]

type MarketParameters = {
  /** As documented, filters included. */
  all: readonly RouteParameter[]
  /** Whether a part of a query is a parameter and no filter. */
  isParameter: IsParameter
}
export type IsParameter = (name: string, value: string) => boolean

/** `derived`: filters by what listings mean, whose names the spec leaves free. */
export type Filters = { spec: Pick<FilterSpec, 'filters'>; derived: readonly Filter[] }

/**
 * The parameters of a route with the filters of the spec, which take the names of own parameters. `cursor` still
 * continues a page, as its values have a form of their own.
 */
export function withFilters(
  parameters: readonly RouteParameter[],
  { spec, derived }: Filters,
): MarketParameters {
  const kept = parameters.filter(({ name }) => !(isOwnParameter(name) && spec.filters.has(name)))
  const names = new Set(kept.map(({ name }) => name))
  const hasCursor = parameters.includes(CURSOR)
  return {
    all: [
      ...kept,
      ...filterParameters([...derived, ...spec.filters.values()]).filter(({ name }) => !names.has(name)),
    ],
    isParameter: (name, value) =>
      names.has(name) || (hasCursor && name === CURSOR.name && isCursorText(value)),
  }
}

type ListingParameters = QueryParameters & { limit: number; offset: number }

type QueryParameters = { texts: QueryTexts; filters: [name: string, value: string][] }

/** @throws EntrepotError `invalid` with every fault of `limit` and `offset` */
export function readListingParameters(queryString: string, isParameter: IsParameter): ListingParameters {
  const parameters = readQueryParameters(queryString, isParameter)
  return { ...parameters, ...readPaging(parameters.texts) }
}

export function readQueryParameters(queryString: string, isParameter: IsParameter): QueryParameters {
  const pairs = decodeQuery(queryString)
  return {
    texts: Object.fromEntries(pairs.filter((pair) => isParameter(...pair))),
    filters: pairs.filter((pair) => !isParameter(...pair)),
  }
}

/** @throws EntrepotError `invalid` with every fault of `limit` and `offset` */
export function readPaging(texts: QueryTexts): { limit: number; offset: number } {
  const errors: Violation[] = []
  const limit = readInteger(LIMIT, texts.limit, errors) ?? DEFAULT_LIMIT
  const offset = readInteger(OFFSET, texts.offset, errors) ?? 0
  if (errors.length > 0) throw invalid(errors)
  return { limit, offset }
}

export function readIntegerParameter(
  parameter: IntegerParameter,
  text: string | undefined,
): number | undefined {
  const errors: Violation[] = []
  const value = readInteger(parameter, text, errors)
  if (errors.length > 0) throw invalid(errors)
  return value
}

const INTEGER = /^\s*[+-]?\d+(\.0*)?\s*$/

/** As lenient as the deployed protocol: `5.0`, `+5`, ` 5 ` and `01` are integers. */
function readInteger(
  { in: place, name, schema }: IntegerParameter,
  text: string | undefined,
  errors: Violation[],
): number | undefined {
  if (text === undefined) return undefined
  // Any numeral of a path is an id, which then is not found.
  const widest = place === 'path' ? Number.POSITIVE_INFINITY : Number.MAX_SAFE_INTEGER
  const { minimum = -widest, maximum = widest } = schema
  const complain = (message: string): void => void errors.push({ path: `${place}.${name}`, message })
  const value = Number(text)
  if (!INTEGER.test(text)) complain('Input should be a valid integer, unable to parse string as an integer')
  else if (value < minimum) complain(`Input should be greater than or equal to ${minimum}`)
  else if (value > maximum) complain(`Input should be less than or equal to ${maximum}`)
  return value
}

/** Empty values are ignored, except for `timeout_ms`, where they are invalid. */
export type GatewayParameters = ListingParameters & {
  requireAll: boolean
  budgetMs: number | undefined
  named: readonly string[] | null
  cursor: string | null
}

/** @throws EntrepotError `invalid` for a malformed parameter, `bad_request` for `cursor` with `offset` */
export function readGatewayParameters(queryString: string, isParameter: IsParameter): GatewayParameters {
  const parameters = readListingParameters(queryString, isParameter)
  const { texts, offset } = parameters
  const cursor = texts.cursor || null
  if (cursor !== null && offset > 0)
    throw new EntrepotError(
      'bad_request',
      'cursor continues after a page, so it cannot be combined with offset',
    )
  if (texts.require && texts.require !== 'all') throw wrong(REQUIRE, "Input should be 'all'")
  const budgetMs = readIntegerParameter(TIMEOUT_MS, texts.timeout_ms)
  return {
    ...parameters,
    requireAll: texts.require === 'all',
    budgetMs,
    named: readNames(texts.sources),
    cursor,
  }
}

const wrong = ({ in: place, name }: RouteParameter, message: string): EntrepotError =>
  invalid([{ path: `${place}.${name}`, message }])

export function readNames(text = ''): readonly string[] | null {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
  return names.length === 0 ? null : names
}

const filterParameters = (filters: readonly Filter[]): RouteParameter[] =>
  filters.map((filter) => parameter('query', filter.name, describeFilter(filter), { anyOf: formsOf(filter) }))

function formsOf(filter: Filter): { type: string; pattern?: string }[] {
  const { pattern, hasPlainForm } = OPERATIONS[filter.op]
  const plainType = filter.value_type === 'address' ? 'string' : filter.value_type
  const setForm = { type: 'string', pattern }
  return hasPlainForm(filter) ? [{ type: plainType }, setForm] : [setForm]
}

/** Rejects with `filter_spec_mismatch` before any other fault, then with `bad_request` for a status or prices. */
export async function readMarketQuery(
  market: Market,
  { texts, filters, named }: QueryParameters & Partial<Pick<GatewayParameters, 'named'>>,
  request: MarketRequest,
  countsPrices = false,
): Promise<MarketQuery> {
  if (request.ifMatch !== undefined) await market.filterSpec(request)
  const { tokens } = market
  return readQuestion(texts, { filters, sources: named, tokens, countsPrices, takesAnyPublisher: true })
}

/** What a gateway reads of a request besides the question. */
export function marketRequestOf(
  { reader, signal, trace, header, listHeader }: RequestContext,
  { budgetMs, requireAll }: Partial<GatewayParameters> = {},
): MarketRequest {
  const caching = requestCaching(listHeader('cache-control'), listHeader('pragma'))
  const cdnLoop = listHeader('cdn-loop')
  const ifMatch = header('if-match')
  return { reader, signal, trace, cdnLoop, caching, ifMatch, budgetMs, requireAll }
}

/** The supported directives of `Cache-Control` (RFC 9111 section 5.2.1), or else of `Pragma`. */
function requestCaching(cacheControl: string | undefined, pragma: string | undefined): Caching | undefined {
  const directives = (cacheControl ?? pragma ?? '').split(',').map((one) => one.trim().toLowerCase())
  if (directives.includes('no-cache')) return 'no-cache'
  return directives.includes('only-if-cached') ? 'only-if-cached' : undefined
}
