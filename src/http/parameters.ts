import { isListingStatus, LISTING_STATUSES, type ListingStatus } from '../domain/listing.ts'
import { PRICE_PERS } from '../domain/price/price-key.ts'
import { SORTS } from '../domain/price/price-parameters.ts'
import { DEFAULT_LIMIT, MAX_LIMIT, type PageQuery } from '../domain/query.ts'
import { EntrepotError, type Violation } from '../errors.ts'
import type { Filter, FilterSpec } from '../filter-spec/filter.ts'
import {
  decodeQuery,
  describeFilter,
  GATEWAY_PARAMETERS,
  parseCriteria,
  REGISTRY_PARAMETERS,
} from '../filter-spec/parameters.ts'
import { readBoolean } from '../filter-spec/parse-test.ts'
import { invalid } from '../registry/errors.ts'
import {
  type IntegerParameter,
  integerParameter,
  parameter,
  type QueryTexts,
  type RouteParameter,
} from './route.ts'

export const LIMIT = integerParameter('query', 'limit', 'Page size', {
  minimum: 1,
  maximum: MAX_LIMIT,
  default: DEFAULT_LIMIT,
})
export const OFFSET = integerParameter('query', 'offset', 'Matches to skip', { minimum: 0, default: 0 })
export const STATUS = parameter('query', 'status', 'Empty: every status', {
  enum: [...LISTING_STATUSES, ''],
  default: 'open',
})
export const PUBLISHER = parameter('query', 'publisher', 'Signing address of one publisher, in any case')
export const LISTING_ID = parameter('path', 'id', 'The listing id, percent-encoded')
export const IF_MATCH = parameter(
  'header',
  'If-Match',
  'Etag of the filter spec that the filters were written for; 412 if it has changed',
)
export const IF_NONE_MATCH = parameter('header', 'If-None-Match', '304 if it names the current `ETag`')
const SORT = parameter(
  'query',
  'sort',
  '`price`: cheapest first. Prices of one unit compare: of `price_token`, or else per token. Those of most offers come ' +
    'first, and listings without such a price last',
  { enum: SORTS, default: SORTS[0] },
)
export const PRICE_TOKEN = parameter(
  'query',
  'price_token',
  'A symbol of `GET /tokens`, such as `USDC` on every chain or `base:USDC`, or `CHAIN:ADDRESS`',
)
export const PRICE_MAX = parameter(
  'query',
  'price_max',
  'Only listings with a price of at most this many whole tokens, such as `2.10`; needs `price_token`',
  { type: 'string', pattern: '^[0-9]+([.][0-9]+)?$' },
)
export const PRICE_PER = parameter(
  'query',
  'price_per',
  'Whether prices are of one GPU (default) or of the whole offer',
  // Without a `default`, which generated clients would send: by itself the parameter is refused.
  { enum: PRICE_PERS },
)
export const TIMEOUT_MS = integerParameter(
  'query',
  'timeout_ms',
  'Time budget; a source that has not answered in time is `unavailable`',
  { minimum: 100, maximum: 10_000 },
)
export const REQUIRE = parameter('query', 'require', '`all`: 502 unless every source has a current answer', {
  enum: ['all'],
})
export const SOURCES = parameter(
  'query',
  'sources',
  'Comma-separated names of the sources to request; default: all visible sources. A gateway that reads this one, too, ' +
    'is shown without what it has from here',
)
const EXPLAIN = parameter(
  'query',
  'explain',
  'Adds to the report of each source the query that it got, and what excluded its listings',
  { type: 'boolean', default: false },
)
const CURSOR = parameter(
  'query',
  'cursor',
  '`next_cursor` of an earlier response to the same query: continues after that page',
)

export const NOT_MODIFIED = { description: 'Not modified' }

export const listingParameters = (spec: FilterSpec): RouteParameter[] => [
  STATUS,
  PUBLISHER,
  LIMIT,
  OFFSET,
  SORT,
  PRICE_TOKEN,
  PRICE_MAX,
  PRICE_PER,
  IF_MATCH,
  ...filterParameters(spec),
]

/** docs/contract.md#36-further-parameters. */
export const GATEWAY_ONLY: readonly RouteParameter[] = [REQUIRE, TIMEOUT_MS, SOURCES, EXPLAIN, CURSOR]

type ListingParameters = {
  texts: QueryTexts
  limit: number
  offset: number
  /** `''`: every status. */
  status: string
  /** Lower-case; `null`: every publisher. */
  publisher: string | null
  filters: [name: string, value: string][]
}

/** @throws EntrepotError `invalid` with every fault of `limit` and `offset` */
export function readListingParameters(
  queryString: string,
  reserved: ReadonlySet<string> = REGISTRY_PARAMETERS,
): ListingParameters {
  const pairs = decodeQuery(queryString)
  const texts: QueryTexts = Object.fromEntries(pairs)
  return {
    texts,
    ...readPaging(texts),
    status: texts.status ?? 'open',
    publisher: texts.publisher?.toLowerCase() || null,
    filters: pairs.filter(([name]) => !reserved.has(name)),
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

export function readStatusParameter(status: string): ListingStatus | null {
  if (status === '') return null
  if (isListingStatus(status)) return status
  throw new EntrepotError('bad_request', `Invalid status: ${status}`)
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
  const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = schema
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
  explain: boolean
  cursor: string | null
}

/** @throws EntrepotError `invalid` for a malformed parameter, `bad_request` for `cursor` with `offset` */
export function readGatewayParameters(
  queryString: string,
  reserved: ReadonlySet<string> = GATEWAY_PARAMETERS,
): GatewayParameters {
  const parameters = readListingParameters(queryString, reserved)
  const { texts, offset } = parameters
  const cursor = texts.cursor || null
  if (cursor !== null && offset > 0)
    throw new EntrepotError(
      'bad_request',
      'cursor continues after a page, so it cannot be combined with offset',
    )
  if (texts.require && texts.require !== 'all') throw wrong(REQUIRE, "Input should be 'all'")
  const budgetMs = readIntegerParameter(TIMEOUT_MS, texts.timeout_ms)
  const explain = texts.explain ? readBoolean(texts.explain) : false
  if (explain === null) throw wrong(EXPLAIN, 'Input should be a valid boolean')
  return {
    ...parameters,
    requireAll: texts.require === 'all',
    budgetMs,
    named: readNames(texts.sources),
    explain,
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

export const filterParameters = ({ filters }: Pick<FilterSpec, 'filters'>): RouteParameter[] =>
  [...filters.values()].map((filter) =>
    parameter('query', filter.name, describeFilter(filter), {
      anyOf: [...plainForm(filter), setForm(filter)],
    }),
  )

/** `not_in`, `exists` and a range without an alias have no plain form. */
const plainForm = ({ op, alias_kind, value_type }: Filter): { type: string }[] =>
  op === 'in' || (op === 'range' && alias_kind !== null)
    ? [{ type: value_type === 'address' ? 'string' : value_type }]
    : []

const setForm = ({ op }: Filter): { type: 'string'; pattern: string } => ({
  type: 'string',
  pattern: op === 'exists' ? '^exists:' : op === 'range' ? '^range:[[(]' : `^${op}:\\[`,
})

/** @throws EntrepotError `bad_request` for an unknown or malformed filter */
export const queryOf = (
  spec: Pick<FilterSpec, 'filters'>,
  status: ListingStatus | null,
  { filters, publisher, limit, offset }: ListingParameters,
): PageQuery => ({ status, criteria: parseCriteria(spec, filters), filters, publisher, limit, offset })
