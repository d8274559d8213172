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
export function namesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === `"${etag}"`)
}
