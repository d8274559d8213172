/** What a request is about, in the words of the signed line. */
export type Operation = { operation: string; resource: string }

/** Of a GET of that path. `null` for a path that is not signed, and for escapes that are no text. */
export function operationOf(path: string): Operation | null {
  const exact = PATHS.get(path)
  if (exact !== undefined) return exact
  for (const [pattern, operation] of PATTERNS) {
    const resource = textOf(pattern.exec(path)?.[1])
    if (resource !== null) return { operation, resource }
  }
  return null
}

const PATHS: ReadonlyMap<string, Operation> = new Map(
  [
    ['/listings', 'listing.list', 'listings'],
    ['/publishers', 'publisher.list', 'publishers'],
    ['/filter-spec', 'filter.get', 'filter-spec'],
    ['/api/v1/system/health', 'health.read', 'health'],
    ['/api/v1/system/stats', 'system.stats.read', 'system'],
    // The public implementation does not have these.
    ['/facets', 'facet.list', 'facets'],
    ['/sources', 'source.list', 'sources'],
    ['/tokens', 'token.list', 'tokens'],
    ['/vocabulary', 'vocabulary.get', 'vocabulary'],
  ].map(([path = '', operation = '', resource = '']) => [path, { operation, resource }]),
)

const PATTERNS: readonly (readonly [path: RegExp, operation: string])[] = [
  [/^\/listings\/([^/]+)$/, 'listing.get'],
  [/^\/publishers\/0*(\d+)$/, 'publisher.get'],
]

function textOf(segment: string | undefined): string | null {
  if (segment === undefined) return null
  try {
    return decodeURIComponent(segment)
  } catch {
    return null
  }
}

/** The body that a GET signs in place of its query, as JSON text. */
export function queryBody(query: string, ifMatch: string | undefined): string {
  const pairs = [...new URLSearchParams(`&${query}`)].sort(comparePairs)
  return JSON.stringify({ query: pairs, ...(ifMatch !== undefined && { if_match: etagIn(ifMatch) }) })
}

/** By code point, as bytes of UTF-8 are ordered. */
const comparePairs = ([a, x]: readonly [string, string], [b, y]: readonly [string, string]): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b)) || Buffer.compare(Buffer.from(x), Buffer.from(y))

const etagIn = (header: string): string =>
  header
    .trim()
    .replace(/^W\//, '')
    .trim()
    .replace(/^"+|"+$/g, '')
