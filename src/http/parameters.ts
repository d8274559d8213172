import { isListingStatus, type ListingStatus } from '../domain/listing.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../domain/query.ts'
import { EntrepotError, type Violation } from '../errors.ts'
import { decodeQuery } from '../filter-spec/query-string.ts'

/** The reserved parameters of a listing read, checked, and the rest as they came (`protocol.md` 1.7). */
export type ListingParameters = {
  limit: number
  offset: number
  /** As sent: `''` asks for every status. */
  status: string
  /** Lower-cased; `null` asks for every publisher. */
  publisher: string | null
  filters: [name: string, value: string][]
}

const RESERVED = new Set(['limit', 'offset', 'status', 'publisher'])

/** @throws EntrepotError `invalid` with everything that is wrong with `limit` and `offset` */
export const readListingParameters = (queryString: string): ListingParameters => {
  const pairs = decodeQuery(queryString)
  const last = new Map(pairs)
  const errors: Violation[] = []
  const limit = readInteger(
    'limit',
    last.get('limit'),
    { fallback: DEFAULT_LIMIT, least: 1, most: MAX_LIMIT },
    errors,
  )
  const offset = readInteger(
    'offset',
    last.get('offset'),
    { fallback: 0, least: 0, most: Number.MAX_SAFE_INTEGER },
    errors,
  )
  refuse(errors)
  return {
    limit,
    offset,
    status: last.get('status') ?? 'open',
    publisher: last.get('publisher')?.toLowerCase() || null,
    filters: pairs.filter(([name]) => !RESERVED.has(name)),
  }
}

/** `null` for the empty string, which asks for every status. */
export const readStatusParameter = (status: string): ListingStatus | null => {
  if (status === '') return null
  if (isListingStatus(status)) return status
  throw new EntrepotError('bad_request', `Invalid status: ${status}`)
}

/** A positive integer in a path; the deployed protocol takes `2.0` for 2. */
export const readPathInteger = (name: string, text: string | undefined): number => {
  const errors: Violation[] = []
  const range = { fallback: 0, least: Number.MIN_SAFE_INTEGER, most: Number.MAX_SAFE_INTEGER }
  const value = readInteger(name, text ?? '', range, errors, 'path')
  refuse(errors)
  return value
}

type Range = { fallback: number; least: number; most: number }

const INTEGER = /^\s*[+-]?\d+(\.0*)?\s*$/

const readInteger = (
  name: string,
  text: string | undefined,
  range: Range,
  errors: Violation[],
  where = 'query',
): number => {
  if (text === undefined) return range.fallback
  const path = `${where}.${name}`
  const value = Number(text)
  if (!INTEGER.test(text))
    errors.push({ path, message: 'Input should be a valid integer, unable to parse string as an integer' })
  else if (value < range.least)
    errors.push({ path, message: `Input should be greater than or equal to ${range.least}` })
  else if (value > range.most)
    errors.push({ path, message: `Input should be less than or equal to ${range.most}` })
  return value
}

const refuse = (errors: readonly Violation[]): void => {
  if (errors.length === 0) return
  throw new EntrepotError('invalid', errors.map(({ path, message }) => `${path}: ${message}`).join('; '), {
    errors,
  })
}
