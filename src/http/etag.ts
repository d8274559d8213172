import { EntrepotError } from '../errors.ts'

/** @throws EntrepotError `filter_spec_mismatch` with `etag`. Quotes and a weak prefix are optional. */
export function requireEtag(ifMatch: string | undefined, etag: string, ...others: readonly string[]): void {
  if (ifMatch === undefined) return
  const tag = ifMatch
    .trim()
    .replace(/^[W/]+/, '')
    .trim()
    .replace(/^"+|"+$/g, '')
  if (tag === etag || others.includes(tag)) return
  throw new EntrepotError('filter_spec_mismatch', 'filter-spec etag mismatch', {
    members: { current_etag: etag },
  })
}

/** By weak comparison (RFC 9110 section 13.1.2). */
export const namesEtag = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => opaque(tag) === opaque(etag))

const opaque = (etag: string): string => etag.trim().replace(/^W\//, '')
