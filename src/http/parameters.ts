import { isListingStatus, LISTING_STATUSES, type ListingStatus } from '../domain/listing.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../domain/query.ts'
import { EntrepotError, type Violation } from '../errors.ts'
import { decodeQuery } from '../filter-spec/query-string.ts'
import { REGISTRY_PARAMETERS } from '../filter-spec/reserved.ts'
import { invalid } from '../registry/refusals.ts'
import type { IntegerParameter, Parameter } from './route.ts'

export const LIMIT: IntegerParameter = {
  name: 'limit',
  in: 'query',
  description: 'Most items of a page',
  schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
}

export const OFFSET: IntegerParameter = {
  name: 'offset',
  in: 'query',
  description: 'Matches before the page',
  schema: { type: 'integer', minimum: 0, default: 0 },
}

export const STATUS: Parameter = {
  name: 'status',
  in: 'query',
  description: 'Empty asks for every status',
  schema: { enum: [...LISTING_STATUSES, ''], default: 'open' },
}

export const PUBLISHER: Parameter = {
  name: 'publisher',
  in: 'query',
  description: 'Signing address of one publisher; case does not matter',
  schema: { type: 'string' },
}

export const LISTING_ID: Parameter = {
  name: 'id',
  in: 'path',
  description: 'The listing id, percent-encoded',
  schema: { type: 'string' },
}

export const IF_MATCH: Parameter = {
  name: 'If-Match',
  in: 'header',
  description: 'The etag of the filter spec that the filters were written for; 412 when it has changed',
  schema: { type: 'string' },
}

export const IF_NONE_MATCH: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  description: '304 when it names the current ETag',
  schema: { type: 'string' },
}

export type ListingParameters = {
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
