import { isListingStatus, LISTING_STATUSES, type ListingStatus } from '../domain/listing.ts'
import { PRICE_PERS } from '../domain/price/price-key.ts'
import { type PriceQuestion, parsePriceQuestion, SORTS } from '../domain/price/price-parameters.ts'
import type { TokenTable } from '../domain/price/token.ts'
import { DEFAULT_LIMIT, MAX_LIMIT, type PageQuery } from '../domain/query.ts'
import { EntrepotError, type Violation } from '../errors.ts'
import type { Filter, FilterSpec, ValueType } from '../filter-spec/filter.ts'
import {
  decodeQuery,
  describeFilter,
  GATEWAY_PARAMETERS,
  parseCriteria,
  REGISTRY_PARAMETERS,
} from '../filter-spec/parameters.ts'
import { readBoolean } from '../filter-spec/parse-test.ts'
import { invalid } from '../registry/errors.ts'
import type { IntegerParameter, RouteParameter } from './route.ts'

export const LIMIT: IntegerParameter = {
  name: 'limit',
  in: 'query',
  description: 'Page size',
  schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
}

export const OFFSET: IntegerParameter = {
  name: 'offset',
  in: 'query',
  description: 'Matches to skip',
  schema: { type: 'integer', minimum: 0, default: 0 },
}

export const STATUS: RouteParameter = {
  name: 'status',
  in: 'query',
  description: 'Empty: every status',
  schema: { enum: [...LISTING_STATUSES, ''], default: 'open' },
}

export const PUBLISHER: RouteParameter = {
  name: 'publisher',
  in: 'query',
  description: 'Signing address of one publisher, in any case',
  schema: { type: 'string' },
}

export const LISTING_ID: RouteParameter = {
  name: 'id',
  in: 'path',
  description: 'The listing id, percent-encoded',
  schema: { type: 'string' },
}

export const IF_MATCH: RouteParameter = {
  name: 'If-Match',
  in: 'header',
  description: 'Etag of the filter spec that the filters were written for; 412 if it has changed',
  schema: { type: 'string' },
}

export const IF_NONE_MATCH: RouteParameter = {
  name: 'If-None-Match',
  in: 'header',
  description: '304 if it names the current `ETag`',
  schema: { type: 'string' },
}

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

type ListingParameters = {
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
  const last = new Map(pairs)
  return {
    ...readPaging(last),
    status: last.get('status') ?? 'open',
    publisher: last.get('publisher')?.toLowerCase() || null,
    filters: pairs.filter(([name]) => !reserved.has(name)),
  }
}

/** @throws EntrepotError as `parsePriceQuestion` */
export function readPriceParameters(queryString: string, tokens: TokenTable): PriceQuestion {
  return parsePriceQuestion(tokens, Object.fromEntries(decodeQuery(queryString)))
}

export function readPaging(query: ReadonlyMap<string, string>): { limit: number; offset: number } {
  const errors: Violation[] = []
  const limit = readInteger(LIMIT, query.get('limit'), DEFAULT_LIMIT, errors)
  const offset = readInteger(OFFSET, query.get('offset'), 0, errors)
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
  const value = readInteger(parameter, text, undefined, errors)
  if (errors.length > 0) throw invalid(errors)
  return value
}

const INTEGER = /^\s*[+-]?\d+(\.0*)?\s*$/

/** As lenient as the deployed protocol: `5.0`, `+5`, ` 5 ` and `01` are integers. */
function readInteger<Fallback>(
  { in: place, name, schema }: IntegerParameter,
  text: string | undefined,
  fallback: Fallback,
  errors: Violation[],
): number | Fallback {
  if (text === undefined) return fallback
  const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = schema
  const complain = (message: string): void => void errors.push({ path: `${place}.${name}`, message })
  const value = Number(text)
  if (!INTEGER.test(text)) complain('Input should be a valid integer, unable to parse string as an integer')
  else if (value < minimum) complain(`Input should be greater than or equal to ${minimum}`)
  else if (value > maximum) complain(`Input should be less than or equal to ${maximum}`)
  return value
}

export const TIMEOUT_MS: IntegerParameter = {
  name: 'timeout_ms',
  in: 'query',
  description: 'Time budget; sources that have not answered in time are omitted',
  schema: { type: 'integer', minimum: 100, maximum: 10_000 },
}

export const REQUIRE: RouteParameter = {
  name: 'require',
  in: 'query',
  description: '`all`: 502 unless every source has a current answer',
  schema: { enum: ['all'] },
}

export const SOURCES: RouteParameter = {
  name: 'sources',
  in: 'query',
  description: 'Comma-separated names of the sources to request; default: all visible sources',
  schema: { type: 'string' },
}

const EXPLAIN: RouteParameter = {
  name: 'explain',
  in: 'query',
  description: 'Adds to the report of each source the query that it got, and what excluded its listings',
  schema: { type: 'boolean', default: false },
}

const CURSOR: RouteParameter = {
  name: 'cursor',
  in: 'query',
  description: '`next_cursor` of an earlier response to the same query: continues after that page',
  schema: { type: 'string' },
}

const SORT: RouteParameter = {
  name: 'sort',
  in: 'query',
  description:
    '`price`: cheapest first. Prices of one unit compare: of `price_token`, or else per token. Those of most offers come ' +
    'first, and listings without such a price last',
  schema: { enum: SORTS, default: SORTS[0] },
}

export const PRICE_TOKEN: RouteParameter = {
  name: 'price_token',
  in: 'query',
  description: 'A symbol of `GET /tokens`, such as `USDC` on every chain or `base:USDC`, or `CHAIN:ADDRESS`',
  schema: { type: 'string' },
}

export const PRICE_MAX: RouteParameter = {
  name: 'price_max',
  in: 'query',
  description:
    'Only listings with a price of at most this many whole tokens, such as `2.10`; needs `price_token`',
  schema: { type: 'string', pattern: '^[0-9]+([.][0-9]+)?$' },
}

export const PRICE_PER: RouteParameter = {
  name: 'price_per',
  in: 'query',
  description: 'Whether prices are of one GPU (default) or of the whole offer',
  // Without a `default`, which generated clients would send: by itself the parameter is refused.
  schema: { enum: PRICE_PERS },
}

/** docs/contract.md#36-further-parameters. */
export const GATEWAY_ONLY: readonly RouteParameter[] = [REQUIRE, TIMEOUT_MS, SOURCES, EXPLAIN, CURSOR]

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
  const last = new Map(decodeQuery(queryString))
  const cursor = last.get('cursor') || null
  if (cursor !== null && parameters.offset > 0)
    throw new EntrepotError(
      'bad_request',
      'cursor continues after a page, so it cannot be combined with offset',
    )
  return {
    ...parameters,
    requireAll: readRequire(last.get('require')),
    budgetMs: readIntegerParameter(TIMEOUT_MS, last.get('timeout_ms')),
    named: readNames(last.get('sources')),
    explain: readFlag(EXPLAIN, last.get('explain')),
    cursor,
  }
}

function readRequire(text: string | undefined): boolean {
  if (text === undefined || text === '') return false
  if (text === 'all') return true
  throw invalid([{ path: 'query.require', message: "Input should be 'all'" }])
}

export function readNames(text: string | undefined): readonly string[] | null {
  const names = (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
  return names.length === 0 ? null : names
}

function readFlag({ name }: RouteParameter, text: string | undefined): boolean {
  if (text === undefined || text === '') return false
  const flag = readBoolean(text)
  if (flag === null) throw invalid([{ path: `query.${name}`, message: 'Input should be a valid boolean' }])
  return flag
}

export const filterParameters = ({ filters }: Pick<FilterSpec, 'filters'>): RouteParameter[] =>
  [...filters.values()].map((filter) => ({
    name: filter.name,
    in: 'query',
    description: describeFilter(filter),
    schema: { anyOf: [...plainForm(filter), setForm(filter)] },
  }))

/** `not_in`, `exists` and a range without an alias have no plain form. */
const plainForm = ({ op, alias_kind, value_type }: Filter): { type: string }[] =>
  op === 'in' || (op === 'range' && alias_kind !== null) ? [{ type: JSON_TYPE[value_type] }] : []

const JSON_TYPE: Readonly<Record<ValueType, string>> = {
  string: 'string',
  address: 'string',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
}

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
