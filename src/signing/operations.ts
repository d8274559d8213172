/** What a request is about, in the words of the signed line. */
export type Operation = { operation: string; resource: string }

/** Of the paths that a gateway and a buyer read. `null` for another path. */
export function operationOf(path: string): Operation | null {
  for (const [pattern, operation, resource] of READS) {
    const match = pattern.exec(path)
    if (match !== null) return { operation, resource: resource ?? decodeURIComponent(match[1]!) }
  }
  return null
}

/** `resource`: where the path has none. */
const READS: readonly (readonly [path: RegExp, operation: string, resource?: string])[] = [
  [/^\/listings$/, 'listing.list', 'listings'],
  [/^\/listings\/([^/]+)$/, 'listing.get'],
  [/^\/publishers$/, 'publisher.list', 'publishers'],
  [/^\/filter-spec$/, 'filter.get', 'filter-spec'],
]

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
