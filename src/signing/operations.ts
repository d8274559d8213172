import { hash } from 'node:crypto'

/** What a request is about, in the words of the signed line. */
export type Operation = { operation: string; resource: string }

/** `null` for a request that is not signed, and for escapes that are no text. */
export function operationOf(method: string, path: string): Operation | null {
  const exact = PATHS.get(`${method} ${path}`)
  if (exact !== undefined) return exact
  for (const [verb, pattern, operation] of PATTERNS) {
    const parts = verb === method ? pattern.exec(path)?.slice(1).map(textOf) : undefined
    if (parts === undefined || parts.includes(null)) continue
    return { operation, resource: parts.join(':') }
  }
  return null
}

const PATHS: ReadonlyMap<string, Operation> = new Map(
  [
    ['GET /listings', 'listing.list', 'listings'],
    ['POST /listings', 'listing.publish', 'listings'],
    ['POST /api/v1/listings/validate-publish', 'listing.validate', 'listings'],
    ['GET /publishers', 'publisher.list', 'publishers'],
    ['GET /filter-spec', 'filter.get', 'filter-spec'],
    ['GET /api/v1/system/health', 'health.read', 'health'],
    ['GET /api/v1/system/stats', 'system.stats.read', 'system'],
    // The public implementation does not have these.
    ['GET /facets', 'facet.list', 'facets'],
    ['GET /sources', 'source.list', 'sources'],
    ['GET /tokens', 'token.list', 'tokens'],
    ['GET /vocabulary', 'vocabulary.get', 'vocabulary'],
  ].map(([request = '', operation = '', resource = '']) => [request, { operation, resource }]),
)

const PATTERNS: readonly (readonly [method: string, path: RegExp, operation: string])[] = [
  ['GET', /^\/listings\/([^/]+)$/, 'listing.get'],
  ['PUT', /^\/listings\/([^/]+)$/, 'listing.update'],
  ['DELETE', /^\/listings\/([^/]+)$/, 'listing.delete'],
  ['GET', /^\/publishers\/0*(\d+)$/, 'publisher.get'],
  ['POST', /^\/publishers\/0*(\d+)\/identity-rotations$/, 'publisher.identity.rotate'],
  ['GET', /^\/publishers\/0*(\d+)\/identity-rotations\/([^/]+)$/, 'publisher.identity.rotation.read'],
  ['POST', /^\/publishers\/0*(\d+)\/identity-rotations\/([^/]+)\/retire$/, 'publisher.identity.retire'],
]

function textOf(segment: string): string | null {
  try {
    return decodeURIComponent(segment)
  } catch {
    return null
  }
}

/** The body that a GET signs in place of its query, as canonical JSON. */
export function queryBody(query: string, ifMatch: string | undefined): string {
  const pairs = [...new URLSearchParams(`&${query}`)].sort(comparePairs)
  return JSON.stringify({ ...(ifMatch !== undefined && { if_match: etagIn(ifMatch) }), query: pairs })
}

/** The hash of that body. */
export const queryHash = (query: string, ifMatch: string | undefined): string =>
  query === '' && ifMatch === undefined ? NO_QUERY : hash('sha256', queryBody(query, ifMatch))

/** Single listings are read again before every message of a negotiation. */
const NO_QUERY = hash('sha256', '{"query":[]}')

/** By code point, as bytes of UTF-8 are ordered. */
const comparePairs = ([a, x]: readonly [string, string], [b, y]: readonly [string, string]): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b)) || Buffer.compare(Buffer.from(x), Buffer.from(y))

const etagIn = (header: string): string =>
  header
    .trim()
    .replace(/^W\//, '')
    .trim()
    .replace(/^"+|"+$/g, '')
