import type { ListingQuery } from '../domain/query.ts'

/** A query as an upstream is asked it: it applies the filters that are pushed down to it. */
export type UpstreamQuery = Omit<ListingQuery, 'filters'> & {
  /** Name and raw value of the filters that the upstream applies. The other criteria are evaluated here. */
  pushed: ListingQuery['filters']
  /** Etag of the upstream's filter spec that `pushed` fits, sent as `If-Match`. */
  ifMatch?: string
}

/** Listings of any status. */
export const UNFILTERED: UpstreamQuery = { status: null, publisher: null, criteria: [], pushed: [] }
/** Every Registry can answer it. */
export const PLAIN_QUERY: UpstreamQuery = { ...UNFILTERED, status: 'open' }
