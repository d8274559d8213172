import { isListingStatus, type ListingStatus } from '../domain/listing.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../domain/query.ts'
import { EntrepotError, type Violation } from '../errors.ts'
import { decodeQuery } from '../filter-spec/query-string.ts'
import { REGISTRY_PARAMETERS } from '../filter-spec/reserved.ts'

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

/** @throws EntrepotError `invalid` with everything that is wrong with `limit` and `offset` */
export const readListingParameters = (queryString: string): ListingParameters => {
  const pairs = decodeQuery(queryString)
  const last = new Map(pairs)
  return {
    ...readPaging(last),
    status: last.get('status') ?? 'open',
    publisher: last.get('publisher')?.toLowerCase() || null,
    filters: pairs.filter(([name]) => !REGISTRY_PARAMETERS.has(name)),
  }
}

/** @throws EntrepotError `invalid` with everything that is wrong with the two */
export const readPaging = (query: ReadonlyMap<string, string>): { limit: number; offset: number } => {
  const errors: Violation[] = []
  const limit = readInteger(
    'query.limit',
    query.get('limit'),
    { fallback: DEFAULT_LIMIT, least: 1, most: MAX_LIMIT },
    errors,
  )
  const offset = readInteger(
    'query.offset',
    query.get('offset'),
    { fallback: 0, least: 0, most: Number.MAX_SAFE_INTEGER },
    errors,
  )
  refuse(errors)
  return { limit, offset }
}

/** `null` for the empty string, which asks for every status. */
export const readStatusParameter = (status: string): ListingStatus | null => {
  if (status === '') return null
  if (isListingStatus(status)) return status
  throw new EntrepotError('bad_request', `Invalid status: ${status}`)
}

/** An id in a path; the deployed protocol takes `2.0` for 2. */
export const readPathInteger = (name: string, text: string | undefined): number =>
  requireInteger(`path.${name}`, text ?? '', 0)!

/** `undefined` where the parameter is absent. */
export const readQueryInteger = (name: string, text: string | undefined): number | undefined =>
  requireInteger(`query.${name}`, text, undefined)

const requireInteger = <Fallback>(
  path: string,
  text: string | undefined,
  fallback: Fallback,
): number | Fallback => {
  const errors: Violation[] = []
  const range = { fallback, least: Number.MIN_SAFE_INTEGER, most: Number.MAX_SAFE_INTEGER }
  const value = readInteger(path, text, range, errors)
  refuse(errors)
  return value
}

type Range<Fallback> = { fallback: Fallback; least: number; most: number }

const INTEGER = /^\s*[+-]?\d+(\.0*)?\s*$/

const readInteger = <Fallback>(
  path: string,
  text: string | undefined,
  range: Range<Fallback>,
  errors: Violation[],
): number | Fallback => {
  if (text === undefined) return range.fallback
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
