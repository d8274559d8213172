import type { Source } from '../domain/page.ts'
import type { UpstreamOptions } from '../domain/upstream.ts'
import type { FetchListings } from './fetch-listings.ts'
import { lackingFilters, readPrefix } from './read-prefix.ts'
import { readStretch } from './read-stretch.ts'

/**
 * An upstream's pages as a source: read from the newest listing on, or from where the query says. Where filters are
 * lacking it has to be read whole in either case.
 */
export const readListings =
  (upstream: Pick<UpstreamOptions, 'name' | 'kind' | 'scanLimit'>, fetch: FetchListings): Source =>
  (query, signal) =>
    query.reading === 'stretch' && lackingFilters(query).length === 0
      ? readStretch(upstream, fetch, query, signal)
      : readPrefix(upstream, fetch, query, signal)
