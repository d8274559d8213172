import { createHash } from 'node:crypto'
import type { ListingQuery } from '../domain/query.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'

/** Where the pages of one upstream are kept: what one credential is shown, another may not be. */
export const pageGroup = ({ url, kind, key }: Pick<UpstreamOptions, 'url' | 'kind' | 'key'>): string =>
  digest([url, kind, key ?? ''])

/**
 * What a page is kept under: everything that the upstream is asked, and nothing else, so that readers who differ in
 * what is evaluated here share it. The order of filters of different names means nothing; that of one name may.
 */
export const pageKey = (query: ListingQuery, offset: number): string => {
  const { status, publisher, filters, ifMatch = null, via = [], listingId = null } = query
  const sorted = filters.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return digest([status, publisher, sorted, offset, ifMatch, via, listingId])
}

const digest = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
