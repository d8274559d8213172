import { EntrepotError } from '../errors.ts'
import { readBoolean } from '../filter-spec/literal.ts'
import { decodeQuery } from '../filter-spec/query-string.ts'
import { GATEWAY_PARAMETERS } from '../filter-spec/reserved.ts'
import { invalid } from '../registry/refusals.ts'
import { type ListingParameters, readIntegerParameter, readListingParameters } from './parameters.ts'
import type { IntegerParameter, Parameter } from './route.ts'

export const TIMEOUT_MS: IntegerParameter = {
  name: 'timeout_ms',
  in: 'query',
  description: 'Budget of this request; a source that is still out when it ends is left out',
  schema: { type: 'integer', minimum: 100, maximum: 10_000 },
}

export const REQUIRE: Parameter = {
  name: 'require',
  in: 'query',
  description: '`all`: 502 unless every source has a current answer',
  schema: { enum: ['all'] },
}

export const SOURCES: Parameter = {
  name: 'sources',
  in: 'query',
  description: 'Names of the sources to ask, with commas between them; default: all that the reader may see',
  schema: { type: 'string' },
}

const EXPLAIN: Parameter = {
  name: 'explain',
  in: 'query',
  description: 'Adds to each source what it was asked, and what excluded listings there',
  schema: { type: 'boolean', default: false },
}

export const CURSOR: Parameter = {
  name: 'cursor',
  in: 'query',
  description: '`next_cursor` of an earlier answer to the same question: what comes behind that page',
  schema: { type: 'string' },
}

/** docs/contract.md#34-further-parameters. */
export const GATEWAY_ONLY: readonly Parameter[] = [REQUIRE, TIMEOUT_MS, SOURCES, EXPLAIN, CURSOR]

/** Empty values are ignored, except for `timeout_ms`, where they are invalid. */
export type GatewayParameters = ListingParameters & {
  requireAll: boolean
  budgetMs: number | undefined
  named: readonly string[] | null
  explain: boolean
  cursor: string | null
}

/** @throws EntrepotError `invalid` for a malformed parameter, `bad_request` for `cursor` with `offset` */
export function readGatewayParameters(queryString: string): GatewayParameters {
  const parameters = readListingParameters(queryString, GATEWAY_PARAMETERS)
  const last = new Map(decodeQuery(queryString))
  const cursor = last.get('cursor') || null
  if (cursor !== null && parameters.offset > 0)
    throw new EntrepotError(
      'bad_request',
      'cursor goes on behind a page, so it cannot have an offset as well',
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

function readNames(text: string | undefined): readonly string[] | null {
  const names = (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
  return names.length === 0 ? null : names
}

function readFlag({ name }: Parameter, text: string | undefined): boolean {
  if (text === undefined || text === '') return false
  const flag = readBoolean(text)
  if (flag === null) throw invalid([{ path: `query.${name}`, message: 'Input should be a valid boolean' }])
  return flag
}
