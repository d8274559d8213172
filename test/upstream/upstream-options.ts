import type { ListingQuery } from '../../src/domain/query.ts'
import type { UpstreamOptions } from '../../src/domain/upstream.ts'

export const upstreamOptions = (
  options: Partial<UpstreamOptions> & Pick<UpstreamOptions, 'url'>,
): UpstreamOptions => ({
  name: 'elsewhere',
  kind: 'registry',
  visibility: 'public',
  mode: 'live',
  key: null,
  priority: 1,
  timeoutMs: 2500,
  connectTimeoutMs: 1000,
  maxInFlight: 8,
  refreshSeconds: 15,
  scanLimit: 2000,
  maxListings: 10_000,
  allowPrivateAddresses: true,
  ...options,
})

export const listingQuery = (query: Partial<ListingQuery> = {}): ListingQuery => ({
  status: 'open',
  publisher: null,
  criteria: [],
  filters: [],
  limit: 50,
  offset: 0,
  ...query,
})
